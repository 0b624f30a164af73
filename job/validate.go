package job

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/weirstream/weir/internal/runtime"
)

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// add appends a step and applies its options; what is wrong with it is reported by Validate.
func (g *Graph) add(node *runtime.Node, err error, opts []Option) {
	if err != nil {
		g.fail(node, "%w", err)
	}
	for _, o := range opts {
		o(node)
	}
	g.nodes = append(g.nodes, node)
}

func (g *Graph) fail(node *runtime.Node, format string, args ...any) {
	kind := "operator"
	if node.Source != nil {
		kind = "source"
	}
	if node.Sink != nil {
		kind = "sink"
	}
	g.errs = append(g.errs, fmt.Errorf("job %s: %s %s: "+format, append([]any{g.name, kind, node.Name}, args...)...))
}

// needs checks what an operator asks of the stream before it.
func (g *Graph) needs(node *runtime.Node, wantsKey, keyed, eventTime bool) {
	if wantsKey && !keyed {
		g.fail(node, "no key: put a key_by before it")
	}
	if eventTime && !timed(node, map[*runtime.Node]bool{}) {
		g.fail(node, "no event time: put an event_time before it")
	}
}

// timed reports whether every path from a source to the node passes an event_time step.
func timed(node *runtime.Node, seen map[*runtime.Node]bool) bool {
	if len(node.Inputs) == 0 {
		return false
	}
	for _, in := range node.Inputs {
		if seen[in.From] || in.From.Kind == "event_time" {
			continue
		}
		if seen[in.From] = true; !timed(in.From, seen) {
			return false
		}
	}
	return true
}

// Validate reports every mistake in the graph, joined.
func (g *Graph) Validate() error {
	errs := append([]error(nil), g.errs...)
	if !validName.MatchString(g.name) {
		errs = append(errs, fmt.Errorf("job %q: bad name: use up to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit", g.name))
	}
	names := map[string]bool{}
	sources, sinks := 0, 0
	bad := func(node *runtime.Node, format string, args ...any) {
		errs = append(errs, fmt.Errorf("job %s: %s %s: "+format, append([]any{g.name, node.Kind, node.Name}, args...)...))
	}
	for _, n := range g.nodes {
		if !validName.MatchString(n.Name) {
			bad(n, "bad name %q: use up to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit", n.Name)
		} else if names[n.Name] {
			bad(n, "another step has this name: a name is the identity of a step's state")
		}
		names[n.Name] = true
		if n.Parallelism < 0 {
			bad(n, "parallelism %d: want 1 or more", n.Parallelism)
		}
		var policy runtime.BadRecord
		if n.Source != nil {
			sources++
			policy = n.Source.BadRecord
		}
		if n.Sink != nil {
			sinks++
			policy = n.Sink.BadRecord
		}
		if err := policy.Validate(); err != nil {
			bad(n, "%w", err)
		}
		if n.Kind == "event_time" && !chainsToSource(n) {
			bad(n, "an event_time step must follow its source without a key_by or union between, and with the same parallelism: it needs to see each split in order")
		}
	}
	g.loops(bad)
	if sources == 0 {
		errs = append(errs, fmt.Errorf("job %s: no source", g.name))
	}
	if sinks == 0 {
		errs = append(errs, fmt.Errorf("job %s: no sink", g.name))
	}
	return errors.Join(errs...)
}

// chainsToSource reports whether a node runs in the same subtask as its source.
func chainsToSource(n *runtime.Node) bool {
	for n.Source == nil {
		if len(n.Inputs) != 1 || n.Inputs[0].Hash || n.Parallelism != n.Inputs[0].From.Parallelism {
			return false
		}
		n = n.Inputs[0].From
	}
	return true
}
