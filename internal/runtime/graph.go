package runtime

import (
	"slices"
	"strings"

	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// Node is one step of a job, before there is any subtask of it. Package job makes nodes; it has checked them.
type Node struct {
	Name string
	Kind string // "source", "sink", or an operator's kind
	// Inputs are where events come from, one per port.
	Inputs []Input
	// Parallelism is the number of subtasks; 0 means the job's.
	Parallelism int
	Keyed       bool
	// Keys says, of a step that gives events a key, what the key is; empty if that is not known, as of a function in Go.
	Keys string
	// Type moves events of the node's output; nil for a sink.
	Type *Type
	// Source and Make, or Make alone, or Sink: what the node does.
	Source *SourceNode
	Sink   *SinkNode
	// Make makes the operator of one subtask. out is the stream.Emit of the node's output type.
	Make func(ctx *operators.Context, out any) (*Stage, error)
}

// Input is an edge of the graph.
type Input struct {
	From *Node
	// Side is the side output it reads; empty for the main one.
	Side string
	// Type moves the events of the edge.
	Type *Type
	// Hash says that the events are keyed and go to the subtask that owns their key group.
	Hash bool
}

// SourceNode is what a source step reads.
type SourceNode struct {
	Spec source.Spec
	// Kafka is the source's own cluster; nil for the job's.
	Kafka *kafka.Config
	// Decode makes the function that decodes a record of one subtask and emits it; emit is the stream.Emit of the node's
	// type, and refuse takes a record that cannot be decoded.
	Decode func(emit any, refuse Refuse) func(split int32, rec *stream.Record) error
	// BadRecord says what happens to a record that Decode refuses.
	BadRecord BadRecord
}

// SinkNode is what a sink step writes.
type SinkNode struct {
	Spec sink.Spec
	// Encode makes the stream.Emit of one subtask, which encodes an event and hands the record to write, or to refuse if it
	// cannot be encoded.
	Encode func(write func(*stream.Record) error, refuse Refuse) any
	// BadRecord says what happens to a result that Encode or the broker refuses.
	BadRecord BadRecord
}

// Refuse carries out the policy for a bad record; its error ends the attempt.
type Refuse func(rec *stream.Record, cause error) error

// Policy says what happens to a bad record.
type Policy string

// The policies: the job stops and names the record (the default); it is counted and skipped; it goes to a topic, in the
// same transaction.
const (
	PolicyFail       Policy = "fail"
	PolicySkip       Policy = "skip"
	PolicyDeadLetter Policy = "dead_letter"
)

// BadRecord is a policy and, for dead_letter, the topic.
type BadRecord struct {
	Policy Policy
	Topic  string
}

// Stage is one operator of one subtask, its types taken off.
type Stage struct {
	// In has a stream.Emit per input port.
	In []any
	// Prefetch has a func([]stream.Event[T]) per input port, nil if the operator is no operators.Prefetcher or Prefetcher2.
	Prefetch []any
	// OnWatermark, NextClock, OnClock and Generator are nil if the operator has no use for them.
	OnWatermark func(watermark int64) error
	NextClock   func() int64
	OnClock     func(now int64) error
	Generator   operators.Generator
	// InTime is that of an operators.Punctual; the engine itself has no use for it.
	InTime func(timestamp, watermark int64) bool
}

// Graph is a whole job.
type Graph struct {
	// Nodes are in an order in which inputs come first.
	Nodes []*Node
}

// sidesOf lists the side outputs of a node that somebody reads.
func (g *Graph) sidesOf(n *Node) []string {
	var tags []string
	for _, m := range g.Nodes {
		for _, in := range m.Inputs {
			if in.From == n && in.Side != "" && !slices.Contains(tags, in.Side) {
				tags = append(tags, in.Side)
			}
		}
	}
	return tags
}

// keys says what the keys of a node's states are, for each input that has some; empty if one of them is not known.
func (n *Node) keys() string {
	var all []string
	for _, in := range n.Inputs {
		if in.From.Keys == "" {
			return ""
		}
		all = append(all, in.From.Keys)
	}
	return strings.Join(all, " | ")
}
