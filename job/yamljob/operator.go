package yamljob

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob/internal/text"
	"github.com/weirstream/weir/job/yamljob/internal/yamlfile"
)

func (b *builder) operators() {
	n := b.f.Operators
	if n == nil || n.Kind == yamlfile.Null {
		return
	}
	if n.AsList().Kind != yamlfile.Sequence {
		b.r.Add(n.Pos, "", "operators: want a list of steps (- name: ...), got %v", n.Kind)
		return
	}
	for i, item := range n.Items {
		b.operator(i, item)
	}
}

// actions are the keys that say what an operator does.
var actions = []string{"filter", "map", "key_by", "event_time", "aggregate", "union"}

func (b *builder) operator(i int, n *yamlfile.Node) {
	where := fmt.Sprintf("operator %d", i+1)
	if name := n.Get("name"); name != nil && name.Text != "" {
		where = fmt.Sprintf("operator %q", name.Text)
	}
	var o OperatorOptions
	fits := b.decode(n, where, &o)
	if n.Kind != yamlfile.Mapping {
		if n.Kind == yamlfile.Null {
			b.r.Add(n.Pos, where, "an empty step")
		}
		return
	}
	s := &step{name: o.Name, where: where, pos: n.KeyPos("name"), parallelism: o.Parallelism, fits: fits}
	if o.Name == "" {
		b.r.Add(n.Pos, where, "name: missing: every step has one, the identity of its state")
	}
	if fits {
		b.positive(n, where, o.Parallelism)
	}

	var given []string
	for _, a := range actions {
		if v := n.Get(a); v != nil {
			given = append(given, a)
		}
	}
	guess := ""
	if len(given) == 0 {
		guess = meant(n)
	}
	if len(given) != 1 && guess == "" {
		message := "nothing to do: give it one of " + strings.Join(actions, ", ")
		pos := n.Pos
		if len(given) > 1 {
			message = strings.Join(given, " and ") + ": one step does one thing: make two steps of it"
			pos = n.KeyPos(given[1])
		}
		b.r.Add(pos, where, "%s", message)
	}
	if ttl := n.Get("ttl"); ttl != nil && fits {
		switch {
		case !slices.Contains(given, "aggregate"):
			b.r.Add(n.KeyPos("ttl"), where, "ttl: belongs to aggregate")
		case o.Window != nil:
			b.r.Add(n.KeyPos("ttl"), where, "ttl: the state of windows ends with them: see allowed_lateness")
		case o.TTL < time.Millisecond || o.TTL%time.Millisecond != 0:
			b.r.Add(ttl.Pos, where, "ttl: %s is not a positive duration in whole milliseconds", ttl.Text)
		}
	}
	if o.Drop != nil && !slices.Contains(given, "aggregate") {
		b.r.Add(n.KeyPos("drop"), where, "drop: belongs to aggregate")
	}
	if o.Window != nil && !slices.Contains(given, "aggregate") {
		b.r.Add(n.KeyPos("window"), where, "window: belongs to aggregate")
	}

	if len(given) == 1 && given[0] == "union" {
		b.union(s, n, &o)
	} else {
		b.single(s, n, &o, given, guess)
	}
	if o.Name != "" {
		b.add(s)
	}
}

// meant is the action that a step without one probably has, under a name that has been reported.
func meant(n *yamlfile.Node) string {
	for _, e := range n.Entries {
		if a := text.Nearest(e.Key, actions); a != "" {
			return a
		}
	}
	return ""
}

// single builds an operator with one input. guess is what it probably does if nothing is given.
func (b *builder) single(s *step, n *yamlfile.Node, o *OperatorOptions, given []string, guess string) {
	var in *step
	if o.Input != "" {
		in = b.input(o.Input, n.Get("input").Pos, s.where)
	} else {
		in = b.following(n, s.where)
	}
	unknown := in == nil
	if unknown {
		in = &step{where: "the input", timed: true, chained: true, parallelism: o.Parallelism}
	}
	// Without a better idea a step passes on what it gets.
	s.out, s.schema, s.format, s.timed = in.out, in.schema, in.format, in.timed
	s.chained = in.chained && in.parallelism == o.Parallelism
	if len(given) != 1 {
		if guess != "filter" && guess != "event_time" {
			s.schema = nil
		}
		s.timed = s.timed || guess != "filter"
		return
	}
	opt := job.Parallelism(o.Parallelism)
	switch a := n.Get(given[0]); given[0] {
	case "filter":
		b.filter(s, in, a, opt)
	case "map":
		b.mapping(s, in, a, opt)
	case "key_by":
		b.keyBy(s, in, a, opt)
	case "event_time":
		b.eventTime(s, in, a, o.EventTime, opt)
	case "aggregate":
		b.aggregate(s, in, unknown, n, o, opt)
	}
}

func (b *builder) union(s *step, n *yamlfile.Node, o *OperatorOptions) {
	list := n.Get("union")
	if o.Input != "" {
		b.r.Add(n.KeyPos("input"), s.where, "input: a union lists its inputs itself")
	}
	if list.Kind == yamlfile.Sequence && len(o.Union) < 2 {
		b.r.Add(list.Pos, s.where, "union: want two steps or more")
	}
	var streams []rows
	ok := true
	s.timed = true
	for i, name := range o.Union {
		pos := list.Items[i].Pos
		in := b.input(name, pos, s.where+": union")
		if slices.Contains(o.Union[:i], name) {
			b.r.Add(pos, s.where, "union: %q is listed twice", name)
		}
		if in == nil || in.schema == nil {
			ok = false
			continue
		}
		s.timed = s.timed && in.timed
		streams = append(streams, in.out)
		if s.schema == nil {
			s.schema, s.format = in.schema, in.format
			continue
		}
		merged, err := s.schema.Union(in.schema)
		if err != nil {
			b.r.Add(pos, s.where, "union: %q does not have the fields of %q: %v", name, o.Union[0], err)
			ok = false
			continue
		}
		if s.schema = merged; in.format != s.format {
			s.format = ""
		}
	}
	if !ok || len(streams) == 0 {
		s.schema = nil
		return
	}
	s.out = job.Union(s.name, streams[0], streams[1:]...)
}
