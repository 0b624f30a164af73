package savepoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirstream/weir/checkpoint"
)

// Change is what became of something between two savepoints.
type Change string

// The changes. What is only in the first savepoint is removed, what is only in the second added.
const (
	Same    Change = "same"
	Added   Change = "added"
	Removed Change = "removed"
	Changed Change = "changed"
)

// Difference is what two savepoints do not have in common. The first is "was", the second "is".
type Difference struct {
	Was       Header           `json:"was"`
	Is        Header           `json:"is"`
	Splits    []SplitChange    `json:"splits"`
	Operators []OperatorChange `json:"operators"`
	// Notes are what a reader should know before he reads the rest.
	Notes []string `json:"notes,omitempty"`
}

// SplitChange is where a split stood. Offsets are nil where the split is not there.
type SplitChange struct {
	Source    string `json:"source"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Change    Change `json:"change"`
	Was       *int64 `json:"was,omitempty"`
	Is        *int64 `json:"is,omitempty"`
	// Records is the offsets between, negative if the second savepoint is behind the first: at most so many records. Zero
	// where the two do not belong to the same records.
	Records int64 `json:"records"`
	// OtherTopic: the topic was deleted and made again, so the offsets are those of different records.
	OtherTopic bool `json:"other_topic,omitempty"`
}

// OperatorChange is what became of an operator. Watermarks are milliseconds since the Unix epoch, nil where it is not there.
type OperatorChange struct {
	Name         string        `json:"name"`
	Kind         string        `json:"kind"`
	Change       Change        `json:"change"`
	WatermarkWas *int64        `json:"watermark_was,omitempty"`
	WatermarkIs  *int64        `json:"watermark_is,omitempty"`
	States       []StateChange `json:"states"`
}

// Diff compares two savepoints; scratch is that of [Savepoint.State].
func Diff(ctx context.Context, was, is *Savepoint, scratch string) (_ *Difference, err error) {
	a, b := was.Pointer(), is.Pointer()
	d := &Difference{Was: was.header(), Is: is.header(), Splits: splitChanges(a.Sources, b.Sources), Operators: []OperatorChange{}}
	switch {
	case a.Job != b.Job:
		d.note("they are of different jobs: %s and %s", a.Job, b.Job)
	case a.Lineage != b.Lineage && beganFrom(b, was):
		d.note("the second goes on from the first, in a lineage of its own")
	case a.Lineage != b.Lineage:
		d.note("they are of different lineages: one does not go on from the other")
	}
	if a.KeyGroups != b.KeyGroups {
		d.note("the first has %d key groups and the second %d: entries are counted and not compared", a.KeyGroups, b.KeyGroups)
	}
	va, err := was.State(ctx, scratch)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, va.Close()) }()
	vb, err := is.State(ctx, scratch)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, vb.Close()) }()
	c := comparison{was: va, is: vb, comparable: a.KeyGroups == b.KeyGroups}
	for _, pair := range pairs(a.Operators, b.Operators, func(o *checkpoint.Operator) string { return o.Name }) {
		o, err := c.operator(ctx, pair)
		if err != nil {
			return nil, fmt.Errorf("savepoints %s and %s: %w", was.Location, is.Location, err)
		}
		d.Operators = append(d.Operators, o)
	}
	return d, nil
}

func (d *Difference) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// pair is something in two savepoints; nil where it is not there.
type pair[T any] struct{ was, is *T }

func (p pair[T]) change() Change {
	switch {
	case p.was == nil:
		return Added
	case p.is == nil:
		return Removed
	}
	return Same
}

// pairs brings together what has the same name: in the order of the second, then what only the first has.
func pairs[T any, N comparable](was, is []T, name func(*T) N) []pair[T] {
	var out []pair[T]
	find := func(in []T, want *T) *T {
		if i := slices.IndexFunc(in, func(t T) bool { return name(&t) == name(want) }); i >= 0 {
			return &in[i]
		}
		return nil
	}
	for i := range is {
		out = append(out, pair[T]{find(was, &is[i]), &is[i]})
	}
	for i := range was {
		if find(is, &was[i]) == nil {
			out = append(out, pair[T]{&was[i], nil})
		}
	}
	return out
}

// splitOf is a split and the source that reads it.
// beganFrom reports whether the lineage of a savepoint's pointer began from another savepoint.
func beganFrom(p *checkpoint.Pointer, s *Savepoint) bool {
	request, _, _ := strings.Cut(p.Request, "#")
	return request == (checkpoint.Request{Kind: checkpoint.RequestFrom, ID: s.Manifest.ID}).String()
}

type splitOf struct {
	source string
	checkpoint.Split
}

func (s *splitOf) key() checkpoint.SplitKey {
	return checkpoint.SplitKey{Source: s.source, Topic: s.Topic, Partition: s.Partition}
}

func splitsOf(sources []checkpoint.Source) []splitOf {
	var out []splitOf
	for _, src := range sources {
		for _, s := range src.Splits {
			out = append(out, splitOf{src.Name, s})
		}
	}
	return out
}

func splitChanges(was, is []checkpoint.Source) []SplitChange {
	out := []SplitChange{}
	for _, p := range pairs(splitsOf(was), splitsOf(is), (*splitOf).key) {
		c := SplitChange{Change: p.change()}
		if p.was != nil {
			c.Source, c.Topic, c.Partition, c.Was = p.was.source, p.was.Topic, p.was.Partition, &p.was.Offset
		}
		if p.is != nil {
			c.Source, c.Topic, c.Partition, c.Is = p.is.source, p.is.Topic, p.is.Partition, &p.is.Offset
		}
		if p.was != nil && p.is != nil {
			none := checkpoint.TopicID{}
			c.OtherTopic = p.was.TopicID != p.is.TopicID && p.was.TopicID != none && p.is.TopicID != none
			if !c.OtherTopic {
				c.Records = *c.Is - *c.Was
			}
			if *c.Is != *c.Was || c.OtherTopic {
				c.Change = Changed
			}
		}
		out = append(out, c)
	}
	return out
}
