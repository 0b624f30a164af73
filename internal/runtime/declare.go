package runtime

import (
	"context"
	"log/slog"
	"slices"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// declared opens one instance of each operator on an empty store and lists the states that it declares, so that what is to
// be restored can be compared with them before anybody is fenced. The instances are thrown away. It is done once a process.
func (j *Job) declaredOperators() ([]checkpoint.Operator, error) {
	if known := j.declared.Load(); known != nil {
		return *known, nil
	}
	var all []checkpoint.Operator
	groups := j.cfg.Checkpoint.KeyGroups
	for _, n := range j.cfg.Graph.Nodes {
		o := checkpoint.Operator{Name: n.Name, Kind: n.Kind, States: []checkpoint.State{}, Watermark: stream.MinTime}
		if n.Make != nil {
			store := &declaring{}
			_, err := n.Make(&operators.Context{
				Subtask: stream.SubtaskID{Operator: n.Name}, Parallelism: 1, Groups: stream.RangeOf(0, 1, groups), KeyGroups: groups,
				Store: store, Now: j.cfg.Now, Logger: slog.New(slog.DiscardHandler), Late: func() {},
				Side: func(string) any { return nil },
			}, n.Type.Discard())
			if err != nil {
				return nil, locate(n.role(), n.Name, err)
			}
			o.States = append(o.States, store.states...)
			o.Keys = keysOf(n, o.States)
		}
		all = append(all, o)
	}
	j.declared.Store(&all)
	return all, nil
}

// keysOf says what the keys of an operator's states are. One without state has no keys to compare.
func keysOf(n *Node, states []checkpoint.State) string {
	if len(states) == 0 {
		return ""
	}
	return n.keys()
}

// declaring is an empty store that notes which states are asked for.
type declaring struct{ states []checkpoint.State }

func (d *declaring) StateID(_ string, s operators.StateDesc) (uint16, error) {
	id := uint16(len(d.states))
	d.states = append(d.states, checkpoint.State{ID: id, Name: s.Name, Kind: s.Kind, Type: s.Type, Version: s.Version, Schema: s.Schema})
	return id, nil
}

func (*declaring) Get(stream.KeyGroup, uint16, string, []byte) ([]byte, bool, error) {
	return nil, false, nil
}

func (*declaring) Scan(stream.KeyGroup, uint16, string, func(namespace, value []byte) error) error {
	return nil
}

func (*declaring) ScanState(stream.KeyGroupRange, uint16, func(stream.KeyGroup, string, []byte, []byte) error) error {
	return nil
}

func (*declaring) Empty(uint16) bool          { return true }
func (*declaring) Applied() int64             { return 0 }
func (*declaring) Lacks() (since, upTo int64) { return 0, 0 }

// description is the job as it is to run, for the comparison with what was kept.
func (a *attempt) description(ctx context.Context, topics foundTopics) (checkpoint.Description, error) {
	d := checkpoint.Description{Name: a.cfg.Job, Shard: a.shard, Shards: 1, KeyGroups: a.keyGroups, Topics: slices.Clone(topics.written)}
	var err error
	if d.Operators, err = a.job.declaredOperators(); err != nil {
		return d, err
	}
	for _, n := range a.graph.Nodes {
		if n.Source == nil {
			continue
		}
		d.Sources = append(d.Sources, n.Name)
		read, err := a.sourceTopics(ctx, n, topics)
		if err != nil {
			return d, locate("source", n.Name, err)
		}
		d.Topics = append(d.Topics, read...)
	}
	return d, nil
}

// sourceTopics are the topics that a source reads, with the IDs that they have now. One that does not exist is somebody
// else's to report: its ID stays zero.
func (a *attempt) sourceTopics(ctx context.Context, n *Node, found foundTopics) ([]checkpoint.Topic, error) {
	there := found.all
	if n.Source.Kafka != nil {
		client, err := a.foreignClient(ctx, n)
		if err != nil {
			return nil, err
		}
		if there, err = kafka.NewCluster(client).Existing(ctx, n.Source.Spec.Kafka.Topics...); err != nil {
			return nil, err
		}
	}
	var topics []checkpoint.Topic
	for _, name := range n.Source.Spec.Kafka.Topics {
		topics = append(topics, checkpoint.Topic{Role: "source", Step: n.Name, Name: name, ID: there[name].ID})
	}
	return topics, nil
}
