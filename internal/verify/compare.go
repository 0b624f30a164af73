package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// comparison goes through the ledger, group by group.
type comparison struct {
	loop   *loop
	bounds *bounds
	report *Report
	opts   *Options
	// reach are the keyed steps above each topic: whether a key is doubtful there is for them to say.
	reach  [][]*step
	doubts map[string]*Doubt // by operator and reason
	groups int64
	// want and got are those of the group.
	want []wantedEntry
	got  []gotEntry
}

// tooMany is how many records of one key are compared one by one, where they are not simply equal.
const tooMany = 2_000_000

func (c *comparison) run(ctx context.Context) (err error) {
	if err := c.loop.ledger.flush(); err != nil {
		return err
	}
	c.doubts = map[string]*Doubt{}
	for i, t := range c.bounds.outputs {
		c.report.Outputs = append(c.report.Outputs, &Output{Topic: t.name, Findings: map[Kind]int64{}})
		c.reach = append(c.reach, c.above(uint8(i)))
	}
	db := c.loop.ledger.db
	want, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{wantedSpace}, UpperBound: []byte{wantedSpace + 1}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, want.Close()) }()
	got, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{gotSpace}, UpperBound: []byte{gotSpace + 1}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, got.Close()) }()
	w, g := want.First(), got.First()
	for w || g {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		group, topic, key := nextGroup(w, want, g, got)
		c.want, c.got = c.want[:0], c.got[:0]
		wanted, have := 0, 0
		for ; w && in(want.Key(), group); w = want.Next() {
			if wanted++; wanted <= tooMany {
				e := decodeWanted(want.Value())
				e.value = slices.Clone(e.value)
				c.want = append(c.want, e)
			}
		}
		for ; g && in(got.Key(), group); g = got.Next() {
			if have++; have <= tooMany {
				e := decodeGot(got.Key(), got.Value())
				e.value = slices.Clone(e.value)
				c.got = append(c.got, e)
			}
		}
		if err := errors.Join(want.Error(), got.Error()); err != nil {
			return err
		}
		if wanted > tooMany || have > tooMany {
			return refuse("", "key %s of topic %s has %d records: more than %d of one key cannot be compared", sample(key), c.bounds.outputs[topic].name, max(wanted, have), tooMany)
		}
		c.group(topic, key)
		if c.groups++; c.groups%1024 == 0 {
			c.opts.Progress(Progress{Phase: "compare", Done: c.groups})
		}
	}
	c.notes()
	return nil
}

// nextGroup is the first group of the two iterators, of which one at least has more. What it returns is the caller's.
func nextGroup(w bool, want *pebble.Iterator, g bool, got *pebble.Iterator) (group []byte, topic uint8, key []byte) {
	if w {
		group, topic, key = splitGroup(want.Key())
	}
	if g {
		if other, at, its := splitGroup(got.Key()); group == nil || bytes.Compare(other, group) < 0 {
			group, topic, key = other, at, its
		}
	}
	if key != nil {
		key = append([]byte{}, key...)
	}
	return slices.Clone(group), topic, key
}

// in reports whether a key of the ledger belongs to a group.
func in(key, group []byte) bool { return bytes.HasPrefix(key[1:], group) }

// above lists the keyed steps above a topic.
func (c *comparison) above(topic uint8) []*step {
	var out []*step
	seen := map[*step]bool{}
	var visit func(s *step)
	visit = func(s *step) {
		if seen[s] {
			return
		}
		seen[s] = true
		if s.node.Keyed {
			out = append(out, s)
		}
		for _, in := range s.node.Inputs {
			visit(c.loop.byNode[in.From])
		}
	}
	for _, s := range c.loop.steps {
		n := s.node
		if n.Sink != nil && (c.loop.number(n.Sink.Spec.Kafka.Topic) == topic || n.Sink.BadRecord.Topic != "" && c.loop.number(n.Sink.BadRecord.Topic) == topic) {
			visit(s)
		}
	}
	return out
}

// group compares the records of one key.
func (c *comparison) group(topic uint8, key []byte) {
	t, out := &c.bounds.outputs[topic], c.report.Outputs[topic]
	out.Seen += int64(len(c.got))
	for i := range c.want {
		if !c.want[i].optional {
			out.Expected++
		}
	}
	if c.opts.Last {
		c.last(topic, key)
		return
	}
	want, got := make([]mark, len(c.want)), make([]mark, len(c.got))
	for i := range c.want {
		want[i] = c.want[i].mark
	}
	for i := range c.got {
		got[i] = c.got[i].mark
	}
	if t.appendTime {
		for i := range want {
			want[i].timestamp = 0
		}
		for i := range got {
			got[i].timestamp = 0
		}
	}
	c.judge(topic, key, c.edits(t, want, got, key))
}

// ordered reports whether the order of the group's records is known: they came by one lane, and stand in one partition.
func (c *comparison) ordered(key []byte) bool {
	for i := range c.want {
		if c.want[i].lane != c.want[0].lane {
			return false
		}
	}
	for i := range c.got {
		if c.got[i].partition != c.got[0].partition {
			return false
		}
	}
	return key != nil
}

func (c *comparison) edits(t *outputTopic, want, got []mark, key []byte) []edit {
	switch {
	case !c.ordered(key):
		return pair(want, got)
	case !t.before && !t.gone:
		return align(want, got)
	}
	// What is not to be judged is at the front: compare from the end.
	slices.Reverse(want)
	slices.Reverse(got)
	edits := align(want, got)
	for i := range edits {
		if e := &edits[i]; e.want >= 0 {
			e.want = len(want) - 1 - e.want
		}
		if e := &edits[i]; e.got >= 0 {
			e.got = len(got) - 1 - e.got
		}
	}
	slices.Reverse(edits)
	return edits
}

// notes says what else may be the reason for findings.
func (c *comparison) notes() {
	if c.report.Err() == nil {
		return
	}
	for _, in := range c.loop.sources {
		o := in.step.node.Source.Spec.Kafka
		o.EnsureDefaults()
		if len(in.timed) > 0 && len(in.splits) > 1 && o.IdleTimeout > 0 {
			c.report.Notes = append(c.report.Notes, fmt.Sprintf("source %s: a partition that is idle for %s does not hold event time back, so records of it that come later may have been late; idle_timeout: -1s rules that out",
				in.step.node.Name, o.IdleTimeout))
		}
	}
}
