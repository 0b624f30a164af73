package job

import (
	"slices"

	"github.com/weirstream/weir/internal/runtime"
)

// loops reports topics that the job would write and read, without end: one typing error is enough for it. Who wants to feed
// results back takes two jobs and two topics. A source with a cluster of its own reads another topic of that name.
func (g *Graph) loops(bad func(node *runtime.Node, format string, args ...any)) {
	reader := func(topic string) string {
		for _, n := range g.nodes {
			if n.Source != nil && n.Source.Kafka == nil && slices.Contains(n.Source.Spec.Kafka.Topics, topic) {
				return n.Name
			}
		}
		return ""
	}
	for _, n := range g.nodes {
		var dead string
		switch {
		case n.Sink != nil:
			topic := n.Sink.Spec.Kafka.Topic
			if from := reader(topic); from != "" {
				bad(n, "topic %s is what source %s reads: every result would be read again, without end", topic, from)
			}
			dead = n.Sink.BadRecord.Topic
		case n.Source != nil:
			dead = n.Source.BadRecord.Topic
		}
		if from := reader(dead); from != "" {
			bad(n, "dead-letter topic %s is what source %s reads: every dead letter would be read again, without end", dead, from)
		}
	}
}
