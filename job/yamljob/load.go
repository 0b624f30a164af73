package yamljob

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob/internal/text"
	"github.com/weirstream/weir/job/yamljob/internal/yamlfile"
)

// LoadOptions say what replaces values of the file.
type LoadOptions struct {
	// Set are assignments path=value: checkpoint.interval=1s, source.views.topics=a,b, operators.count.window.tumbling=2m.
	Set []string
	// Env looks up the variables of ${NAME}; nil means the environment of the process.
	Env func(name string) (value string, ok bool)
}

// Loaded is a job that is ready to run: Graph.Run(ctx, Options).
type Loaded struct {
	Name    string
	Graph   *job.Graph
	Options job.Options
}

// Load reads and checks a job file. The error has every mistake, one a line, each a [Mistake]; errors.Is with fs.ErrNotExist
// and the like tells when the file could not be read.
func Load(path string, opts LoadOptions) (*Loaded, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, opts)
}

// Mistake is one mistake of a job file: its position, the part of the job, and what is wrong.
type Mistake = yamlfile.Mistake

// Parse is Load for a file that has been read; name is what mistakes begin with.
func Parse(name string, data []byte, opts LoadOptions) (*Loaded, error) {
	root, r := yamlfile.Parse(name, data)
	if root == nil {
		return nil, r.Err()
	}
	r.Choices = choices
	for _, s := range opts.Set {
		r.Set(root, s, "source", "sink")
	}
	env := opts.Env
	if env == nil {
		env = os.LookupEnv
	}
	r.Substitute(root, env)

	var f fileOptions
	r.Decode(root, "", &f)
	b := &builder{r: r, root: root, f: &f, steps: map[string]*step{}, sinkAt: map[string]yamlfile.Pos{}}
	b.name()
	b.graph = job.New(f.Job)
	b.sources()
	b.operators()
	b.sinks()
	b.unread()
	b.settings()
	if r.Errors() == 0 {
		b.check()
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return &Loaded{Name: f.Job, Graph: b.graph, Options: f.Options}, nil
}

// settings checks the blocks of the whole job.
func (b *builder) settings() {
	b.positive(b.root, "", b.f.Parallelism)
	o := b.f.Options
	o.EnsureDefaults()
	b.r.Invalid(b.root, "", o.Validate())
	b.secured(b.root.Get("kafka"), "kafka")
}

// SetOptions changes values of a Go program's options by their paths, as --set of a file does: checkpoint.interval=1s.
// The error has every mistake, one a line.
func SetOptions(o *job.Options, assignments []string) error {
	root, r := &yamlfile.Node{Kind: yamlfile.Mapping}, &yamlfile.Report{Choices: choices}
	for _, s := range assignments {
		r.Set(root, s)
	}
	r.Decode(root, "", o)
	return r.Err()
}

// ParseDuration reads a duration as the values of a file are read: 200ms, 5s, 1h30m, 7d.
func ParseDuration(s string) (time.Duration, error) { return text.ParseDuration(s) }

// check reports what the graph itself objects to. What is left for it here has no better place than its step.
func (b *builder) check() {
	err := b.graph.Validate()
	if err == nil {
		return
	}
	errs := []error{err}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		errs = joined.Unwrap()
	}
	for _, e := range errs {
		pos, message := b.root.Pos, e.Error()
		for _, s := range b.order {
			var kind, rest string
			if n, _ := fmt.Sscanf(message, "job "+b.f.Job+": %s "+s.name+": %s", &kind, &rest); n == 2 {
				pos = s.pos
			}
		}
		for name, at := range b.sinkAt {
			if strings.HasPrefix(message, "job "+b.f.Job+": sink "+name+": ") {
				pos = at
			}
		}
		b.r.Add(pos, "", "%s", message)
	}
}
