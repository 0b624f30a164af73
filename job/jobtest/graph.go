package jobtest

import (
	"slices"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob"
)

// Load reads a job from a YAML file: the graph, and an option that gives a run the options of the file. Assignments are
// those of --set, such as "checkpoint.interval=10ms".
func (c *Cluster) Load(path string, set ...string) (*job.Graph, Option) {
	c.t.Helper()
	l, err := yamljob.Load(path, yamljob.LoadOptions{Set: set})
	if err != nil {
		c.t.Fatal(err)
	}
	return l.Graph, Configure(func(o *job.Options) { *o = l.Options })
}

// adopt lets every source read from this cluster, and makes the topics that are missing.
func (c *Cluster) adopt(cfg *runtime.Config) {
	c.t.Helper()
	// The graph is the test's, and another run may have it: the nodes that change are copies.
	copies := map[*runtime.Node]*runtime.Node{}
	nodes := make([]*runtime.Node, len(cfg.Graph.Nodes))
	for i, n := range cfg.Graph.Nodes {
		m := *n
		m.Inputs = slices.Clone(n.Inputs)
		for j, in := range m.Inputs {
			m.Inputs[j].From = copies[in.From]
		}
		if n.Source != nil {
			source := *n.Source
			source.Kafka = nil
			m.Source = &source
		}
		copies[n], nodes[i] = &m, &m
	}
	cfg.Graph = &runtime.Graph{Nodes: nodes}
	for _, topic := range slices.Concat(sourceTopics(cfg.Graph), sinkTopics(cfg.Graph)) {
		c.need(topic)
	}
}

func sourceTopics(g *runtime.Graph) (topics []string) {
	for _, n := range g.Nodes {
		if n.Source != nil {
			topics = append(topics, n.Source.Spec.Kafka.Topics...)
		}
	}
	return topics
}

// sinkTopics are the topics that a job writes, those for bad records included.
func sinkTopics(g *runtime.Graph) (topics []string) {
	add := func(topic string) {
		if topic != "" && !slices.Contains(topics, topic) {
			topics = append(topics, topic)
		}
	}
	for _, n := range g.Nodes {
		switch {
		case n.Source != nil:
			add(n.Source.BadRecord.Topic)
		case n.Sink != nil:
			add(n.Sink.Spec.Kafka.Topic)
			add(n.Sink.BadRecord.Topic)
		}
	}
	return topics
}

// bounded reports whether some source ends by itself.
func bounded(g *runtime.Graph) bool {
	return slices.ContainsFunc(g.Nodes, func(n *runtime.Node) bool {
		return n.Source != nil && n.Source.Spec.Kafka.StopAt != ""
	})
}
