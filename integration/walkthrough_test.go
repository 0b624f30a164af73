//go:build integration

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/integration/walk"
)

// docs/walk-through.md is carried out as it stands, on a Kafka of its own; the package walk has the conventions of its blocks. In
// place of localhost:9092, the two HTTP addresses and /home/ann/walk stand those of the test; checkpoint:ID is the checkpoint
// of the second line with "stopped" in the latest list. What the jobs have written by then is in walkthrough_loop_test.go.
func TestTheWalkThroughIsTrue(t *testing.T) {
	w := newWalker(t)
	document, err := os.ReadFile("../docs/walk-through.md")
	if err != nil {
		t.Fatal(err)
	}
	steps, err := walk.Parse(string(document))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		w.step(t, s)
	}
	for _, p := range w.beside {
		if code := p.Exit(20 * time.Second); code != 0 {
			t.Errorf("%s: exit code %d", p, code)
		}
	}
	w.checkOutput(t)
}

type walker struct {
	cluster *harness.Cluster
	dir     string
	env     []string
	here    *strings.Replacer // what the document says to what it is here
	shown   *strings.Replacer // and back
	beside  []*harness.Process
	goBack  string            // the checkpoint ID that the document calls ID
	batches []map[int32]int64 // the ends of the input after each generate
}

func newWalker(t *testing.T) *walker {
	w := &walker{cluster: harness.NewCluster(t, broker.Options{}), dir: t.TempDir()}
	bin := t.TempDir()
	if err := os.Symlink(processor, filepath.Join(bin, "processor")); err != nil {
		t.Fatal(err)
	}
	w.env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}
	pairs := []string{"/home/ann/walk", w.dir, "localhost:9092", w.cluster.Brokers[0]}
	for _, port := range []string{":8080", ":8081"} {
		pairs = append(pairs, port, fmt.Sprintf(":%d", harness.FreePort(t)))
	}
	w.here = strings.NewReplacer(pairs...)
	for i := 0; i < len(pairs); i += 2 {
		pairs[i], pairs[i+1] = pairs[i+1], pairs[i]
	}
	w.shown = strings.NewReplacer(pairs...)
	return w
}

func (w *walker) step(t *testing.T, s walk.Step) {
	t.Helper()
	if s.File != "" {
		if err := os.WriteFile(filepath.Join(w.dir, s.File), []byte(w.here.Replace(s.Text)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	until := time.Now().Add(30 * time.Second)
	printed := w.run(t, s)
	err := walk.Match(s.Shown, printed())
	for err != nil && time.Now().Before(until) && w.more(t, s) {
		if s.Again {
			printed = w.run(t, s)
		}
		err = walk.Match(s.Shown, printed())
	}
	if err != nil && s.Shown != "" {
		t.Errorf("docs/walk-through.md:%d: %v\nprinted:\n%s", s.Line, err, printed())
	}
}

// more passes a moment if the output of a step may change yet.
func (w *walker) more(t *testing.T, s walk.Step) bool {
	if !s.Again && !s.Commands[len(s.Commands)-1].Beside {
		return false
	}
	return harness.Pass(t.Context(), 100*time.Millisecond)
}

var setting = regexp.MustCompile(`^export (\w+=\S+)$`)

// run runs the commands of a step and returns what gives their output: it grows while a job runs.
func (w *walker) run(t *testing.T, s walk.Step) func() string {
	t.Helper()
	var ended strings.Builder
	var jobs []*harness.Process
	for _, c := range s.Commands {
		text := strings.ReplaceAll(w.here.Replace(c.Text), "checkpoint:ID", "checkpoint:"+w.goBack)
		if m := setting.FindStringSubmatch(text); m != nil {
			w.env = append(w.env, m[1])
			continue
		}
		if c.Beside {
			p := harness.Program{Path: "/bin/sh", Args: []string{"-c", "exec " + text}, Dir: w.dir, Env: w.env}.Start(t)
			w.beside, jobs = append(w.beside, p), append(jobs, p)
			continue
		}
		cmd := exec.CommandContext(harness.Context(t, 30*time.Second), "/bin/sh", "-c", text)
		cmd.Dir, cmd.Env = w.dir, append(os.Environ(), w.env...)
		printed, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.Exit {
			t.Fatalf("docs/walk-through.md:%d: %s: exit code %d, want %d\n%s", s.Line, c.Text, code, c.Exit, printed)
		}
		ended.Write(printed)
		w.learn(t, c.Text, string(printed))
	}
	return func() string {
		printed := ended.String()
		for _, p := range jobs {
			printed += p.Output()
		}
		return w.shown.Replace(printed)
	}
}

var stoppedLine = regexp.MustCompile(`(?m)^ *(\d+) .*\bstopped\b`)

// learn keeps what later commands and the check of the output need.
func (w *walker) learn(t *testing.T, command, printed string) {
	switch {
	case strings.HasPrefix(command, "processor generate"):
		w.batches = append(w.batches, w.inputEnds(t))
	case strings.HasPrefix(command, "processor checkpoints list"):
		if found := stoppedLine.FindAllStringSubmatch(printed, -1); len(found) > 1 {
			w.goBack = found[1][1]
		}
	}
}
