package yamljob

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob/internal/expression"
	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/job/yamljob/internal/text"
	"github.com/weirstream/weir/job/yamljob/internal/yamlfile"
)

// rows is the stream that every step of a YAML job makes.
type rows = *job.Stream[row.Row]

// builder turns the nodes of a file into a graph, step by step in the order of the file.
type builder struct {
	r     *yamlfile.Report
	root  *yamlfile.Node
	f     *fileOptions
	graph *job.Graph
	steps map[string]*step
	order []*step
	// sinkAt is where each sink stands.
	sinkAt map[string]yamlfile.Pos
	// lost: some step's input could not be found, so a step that nothing reads may be the one that was meant.
	lost bool
}

// step is what later steps need to know of an earlier one.
type step struct {
	name  string
	where string
	pos   yamlfile.Pos
	out   rows
	// schema is nil if it is not known, since something was wrong above: what depends on it keeps quiet then.
	schema *row.Schema
	// format is that of the source whose values the rows still carry unchanged.
	format string
	// decoder is that of a source, nil for other steps.
	decoder *row.Decoder
	// key are the fields of the key, for the step right after a key_by.
	key []row.Field
	// timed steps have an event_time above them; chained ones run in the subtask of their source.
	timed, chained bool
	parallelism    int
	read           bool
	// fits: every value of the step has the type that it should have.
	fits bool
	// side says that this is the side output of a step.
	side bool
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

const nameRule = "use up to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit"

func (b *builder) name() {
	switch n := b.root.Get("job"); {
	case n == nil || b.f.Job == "" && n.Kind <= yamlfile.Scalar:
		b.r.Add(b.root.Pos, "", "the name of the job is missing: begin with job: NAME")
	case b.f.Job != "" && !validName.MatchString(b.f.Job):
		b.r.Add(n.Pos, "", "job: bad name %q: %s", b.f.Job, nameRule)
	}
}

// decode decodes a step, and reports whether every value has the type that it should have.
func (b *builder) decode(n *yamlfile.Node, where string, dst any) bool {
	before := b.r.Errors()
	b.r.Decode(n, where, dst)
	return b.r.Errors() == before
}

// add makes a step known, unless its name is bad or taken.
func (b *builder) add(s *step) {
	switch old := b.steps[s.name]; {
	case !validName.MatchString(s.name):
		b.r.Add(s.pos, s.where, "bad name: %s", nameRule)
	case old != nil:
		b.r.Add(s.pos, s.where, "%s has this name already: a name is the identity of a step's state", old.where)
	}
	if s.name == "" || b.steps[s.name] != nil {
		return
	}
	b.steps[s.name] = s
	b.order = append(b.order, s)
}

// input finds the step that another one reads; nil if there is none.
func (b *builder) input(name string, pos yamlfile.Pos, where string) *step {
	if s := b.steps[name]; s != nil {
		s.read = true
		return s
	}
	b.lost = true
	var names []string
	for _, s := range b.order {
		names = append(names, s.name)
	}
	if b.f.Operators != nil {
		for _, later := range b.f.Operators.Items {
			if n := later.Get("name"); n != nil && n.Text == name {
				b.r.Add(pos, where, "step %q stands further down: a step reads only what stands before it", name)
				return nil
			}
		}
	}
	hint := text.Suggest(name, names)
	if hint == "" && len(names) > 0 {
		hint = ": there are " + strings.Join(names, ", ")
	}
	b.r.Add(pos, where, "unknown step %q%s", name, hint)
	return nil
}

// following is the input of a step that names none: the step before, or the only source.
func (b *builder) following(n *yamlfile.Node, where string) *step {
	var last *step
	for _, s := range b.order {
		if s.decoder == nil && !s.side {
			last = s
		}
	}
	if last == nil {
		if len(b.order) != 1 {
			b.lost = true
			if len(b.order) > 1 {
				b.r.Add(n.Pos, where, "there are %d sources: say with input which one to read", len(b.order))
			}
			return nil
		}
		last = b.order[0]
	}
	last.read = true
	return last
}

// unread reports steps whose records go nowhere.
func (b *builder) unread() {
	for _, s := range b.order {
		if !s.read && !b.lost {
			b.r.Add(s.pos, s.where, "nothing reads this step")
		}
	}
}

// compile compiles an expression that was given as the value of key.
func (b *builder) compile(n *yamlfile.Node, where, key string, schema *row.Schema) *expression.Expr {
	switch {
	case n.Bad():
		return nil
	case n.Kind != yamlfile.Scalar:
		b.r.Add(n.Pos, where, "%s: want an expression, got %v", key, n.Kind)
		return nil
	case schema == nil:
		b.expressionErrors(n, where, key, expression.Syntax(n.Text))
		return nil
	}
	e, errs := expression.Compile(n.Text, schema)
	b.expressionErrors(n, where, key, errs)
	return e
}

func (b *builder) expressionErrors(n *yamlfile.Node, where, key string, errs []*expression.Error) {
	for _, e := range errs {
		message := e.Message
		if n.Quoted && len(errs) == 1 && strings.HasPrefix(message, fmt.Sprintf("unknown field %q", n.Text)) {
			message += fmt.Sprintf("; for the text itself write '%q'", n.Text)
		}
		b.r.Add(b.r.At(n, e.Offset), where, "%s: %s", key, message)
	}
}

// oneOf reports a value that is none of the allowed ones.
func (b *builder) oneOf(n *yamlfile.Node, where, key, value string, allowed ...string) {
	if value != "" && !n.Get(key).Bad() && !slices.Contains(allowed, value) {
		b.r.Add(n.Get(key).Pos, where, "%s: %q is not one of %s%s", key, value, strings.Join(allowed, ", "), text.Suggest(value, allowed))
	}
}

// stepOptions checks what sources and sinks have in common, and makes options of it.
func (b *builder) stepOptions(n *yamlfile.Node, where string, fits bool, policy, topic string, parallelism int) []job.Option {
	b.oneOf(n, where, "on_bad_record", policy, policies...)
	switch {
	case policy == "dead_letter" && topic == "":
		b.r.Add(n.Get("on_bad_record").Pos, where, "on_bad_record: dead_letter needs dead_letter_topic")
	case policy != "dead_letter" && topic != "":
		b.r.Add(n.KeyPos("dead_letter_topic"), where, "dead_letter_topic needs on_bad_record: dead_letter")
	}
	if fits {
		b.positive(n, where, parallelism)
	}
	return []job.Option{job.OnBadRecord(policy, topic), job.Parallelism(parallelism)}
}

// positive checks the parallelism of a step or of the whole job.
func (b *builder) positive(n *yamlfile.Node, where string, parallelism int) {
	p := n.Get("parallelism")
	if p == nil || p.Kind != yamlfile.Scalar || p.Bad() {
		return
	}
	o := b.f.Checkpoint
	o.EnsureDefaults()
	switch {
	case parallelism < 1:
		b.r.Add(p.Pos, where, "parallelism: want 1 or more, got %s", p.Text)
	case parallelism > o.KeyGroups && o.KeyGroups > 0:
		b.r.Add(p.Pos, where, "parallelism: %s is more than the %d key groups of the job (checkpoint.key_groups)", p.Text, o.KeyGroups)
	}
}

// named checks the name of a field that a step makes.
func (b *builder) named(pos yamlfile.Pos, where, key, name string, fields []row.Field) bool {
	switch {
	case name == "" || strings.HasPrefix(name, "$"):
		b.r.Add(pos, where, "%s: bad field name %q: it must not be empty nor begin with $", key, name)
	case slices.ContainsFunc(fields, func(f row.Field) bool { return f.Name == name }):
		b.r.Add(pos, where, "%s: there is a field %q already", key, name)
	default:
		return true
	}
	return false
}

// located says in which step a record could not be processed. The same record would fail again, so the job is not restarted.
func located(step string) func(error) error {
	return func(err error) error { return &runtime.BadRecordError{Where: "operator " + step, Err: err} }
}
