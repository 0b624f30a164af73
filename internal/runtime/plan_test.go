package runtime

import (
	"fmt"
	"strings"
	"testing"
)

// chart writes a plan down: a line a task, then its exchanges.
func chart(tasks []*task) string {
	var b strings.Builder
	for _, t := range tasks {
		var names []string
		for _, n := range t.nodes {
			names = append(names, n.Name)
		}
		fmt.Fprintf(&b, "%s x%d\n", strings.Join(names, " > "), t.parallelism)
		for _, e := range t.inputs {
			fmt.Fprintf(&b, "  %s -> %s port %d %s, %d channels from %d\n",
				e.from.Name, e.to.Name, e.port, []string{"forward", "by group", "spread"}[e.mode], e.channels(), e.firstInput)
		}
	}
	return b.String()
}

func node(name string, parallelism int, inputs ...Input) *Node {
	n := &Node{Name: name, Parallelism: parallelism, Inputs: inputs}
	if len(inputs) == 0 {
		n.Source = &SourceNode{}
	}
	return n
}

func from(n *Node) Input   { return Input{From: n} }
func hashed(n *Node) Input { return Input{From: n, Hash: true} }

func TestStepsAreChainedUnlessAnEventMustChangeItsSubtask(t *testing.T) {
	in := node("in", 0)
	filter := node("filter", 0, from(in))
	key := node("key", 0, from(filter))
	count := node("count", 0, hashed(key))
	out := node("out", 0, from(count))
	narrow := node("narrow", 1, from(count))
	other := node("other", 0)
	union := node("union", 0, from(filter), from(other))
	again := node("again", 0, from(filter), from(key))
	g := &Graph{Nodes: []*Node{in, filter, key, count, out, narrow, other, union, again}}
	for _, c := range []struct {
		parallelism int
		want        string
	}{
		{1, `
in > filter > key > count > out > narrow > again x1
other x1
union x1
  filter -> union port 0 forward, 1 channels from 0
  other -> union port 1 forward, 1 channels from 1
`},
		{3, `
in > filter > key > again x3
count > out x3
  key -> count port 0 by group, 3 channels from 0
narrow x1
  count -> narrow port 0 spread, 3 channels from 0
other x3
union x3
  filter -> union port 0 forward, 1 channels from 0
  other -> union port 1 forward, 1 channels from 1
`},
	} {
		if got := chart(plan(g, c.parallelism)); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("parallelism %d:\n%s\nwant:%s", c.parallelism, got, c.want)
		}
	}
}
