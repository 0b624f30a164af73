package verify

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// judge counts what a comparison found.
func (c *comparison) judge(topic uint8, key []byte, edits []edit) {
	t, out := &c.bounds.outputs[topic], c.report.Outputs[topic]
	ordered := c.ordered(key)
	first, last := len(edits), -1 // of the equal ones
	for i, e := range edits {
		if e.what == equal {
			first, last = min(first, i), i
		}
	}
	var found []Finding
	for i, e := range edits {
		front := !ordered || i < first // in front of all that is known to be in the range
		switch e.what {
		case equal:
			out.Equal++
			continue
		case missing:
			if c.want[e.want].optional && (!ordered || i > last) {
				out.Pending++
				continue
			}
			if t.gone && front {
				out.Gone++
				continue
			}
			found = append(found, c.finding(t, Lost, key, e))
		case different:
			found = append(found, c.finding(t, Different, key, e))
		case doubled, madeUp:
			if t.before && front {
				out.Before++
				continue
			}
			kind := Doubled
			if e.what == madeUp {
				kind = MadeUp
			}
			found = append(found, c.finding(t, kind, key, e))
		case outOfOrder:
			found = append(found, c.finding(t, OutOfOrder, key, e))
		}
	}
	if len(found) == 0 {
		return
	}
	if s, why := c.doubtOf(topic, key); s != nil {
		out.Undecided += int64(len(found))
		c.doubt(s, why, key, found...)
		return
	}
	for _, f := range found {
		c.add(out, f)
	}
}

// doubtOf says because of which step a key is doubtful, nil if it is not.
func (c *comparison) doubtOf(topic uint8, key []byte) (*step, string) {
	for i := range c.want {
		if d := c.want[i].doubt; d >= 0 {
			s := c.loop.steps[d]
			if why := s.why(key); why != "" {
				return s, why
			}
			return s, "what they are made of is doubtful"
		}
	}
	for _, s := range c.reach[topic] {
		if why := s.why(key); why != "" {
			return s, why
		}
	}
	return nil, ""
}

// doubt notes a key whose differences are not judged.
func (c *comparison) doubt(s *step, why string, key []byte, found ...Finding) {
	d := c.doubts[s.node.Name]
	if d == nil {
		d = &Doubt{Operator: s.node.Name, Reason: why, Key: key}
		c.doubts[s.node.Name] = d
		c.report.Doubts = append(c.report.Doubts, d)
	}
	d.Keys++
	d.Examples = append(d.Examples, found[:min(len(found), max(0, c.opts.Examples-len(d.Examples)))]...)
}

func (c *comparison) add(out *Output, f Finding) {
	out.Findings[f.Kind]++
	if c.report.Count(f.Kind) <= int64(c.opts.Examples) {
		c.report.Examples = append(c.report.Examples, f)
	}
}

// finding describes one step of a comparison.
func (c *comparison) finding(t *outputTopic, kind Kind, key []byte, e edit) Finding {
	f := Finding{Kind: kind, Topic: t.name, Partition: -1, Offset: -1, Key: key}
	if e.want >= 0 {
		w := &c.want[e.want]
		f.Want = valueOf(w.null, w.value)
		if w.inputTopic > 0 {
			f.Input = &Position{c.loop.topics[w.inputTopic-1], w.inputPartition, w.inputOffset}
		}
		if key != nil {
			f.Partition = partitionOf(t, key)
		}
	}
	if e.got >= 0 {
		g := &c.got[e.got]
		f.Got, f.Partition, f.Offset = valueOf(g.null, g.value), g.partition, g.offset
	}
	if e.want >= 0 && e.got >= 0 && c.want[e.want].mark.value == c.got[e.got].mark.value && kind == Different {
		w, g := c.want[e.want].mark, c.got[e.got].mark
		switch {
		case w.headers != g.headers:
			f.Note = "the headers differ"
		default:
			f.Note = fmt.Sprintf("the timestamp is %d and should be %d", g.timestamp, w.timestamp)
		}
	}
	return f
}

func valueOf(null bool, value []byte) string {
	if null {
		return "null"
	}
	if value == nil {
		value = []byte{}
	}
	return sample(value)
}

// partitionOf is where a key belongs, as Kafka's producers have it.
func partitionOf(t *outputTopic, key []byte) int32 {
	p := kgo.StickyKeyPartitioner(nil).ForTopic(t.name)
	return int32(p.Partition(&kgo.Record{Key: key}, len(t.partitions)))
}

// last compares the last value of a key.
func (c *comparison) last(topic uint8, key []byte) {
	t, out := &c.bounds.outputs[topic], c.report.Outputs[topic]
	if key == nil {
		out.Before += int64(len(c.got)) // without a key nothing takes another's place
		return
	}
	required := -1
	for i := range c.want {
		if !c.want[i].optional {
			required = i
		}
	}
	switch {
	case len(c.got) == 0 && required < 0:
		out.Pending += int64(len(c.want))
		return
	case len(c.got) == 0 && t.gone:
		out.Gone++
		return
	case len(c.got) == 0:
		c.add(out, c.finding(t, Lost, key, edit{missing, required, -1}))
		return
	case len(c.want) == 0 && t.before:
		out.Before += int64(len(c.got))
		return
	case len(c.want) == 0:
		c.add(out, c.finding(t, MadeUp, key, edit{madeUp, -1, len(c.got) - 1}))
		return
	}
	for i := max(required, 0); i < len(c.want); i++ {
		if c.want[i].mark.value == c.got[len(c.got)-1].mark.value {
			out.Equal++
			return
		}
	}
	if required < 0 && t.before {
		out.Before++
		return
	}
	e := edit{different, len(c.want) - 1, len(c.got) - 1}
	if required >= 0 {
		e.want = required
	}
	if s, why := c.doubtOf(topic, key); s != nil {
		out.Undecided++
		c.doubt(s, why, key, c.finding(t, Different, key, e))
		return
	}
	c.add(out, c.finding(t, Different, key, e))
}
