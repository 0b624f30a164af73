package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weirstream/weir/integration/child"
)

// outcome is what became of a planted fault.
type outcome string

const (
	caught      outcome = "caught"
	caughtHangs outcome = "caught (hangs)" // the test's own timeout ended it
	notCaught   outcome = "NOT CAUGHT"
	notPlanted  outcome = "NOT PLANTED"
	noVerdict   outcome = "NO VERDICT" // it failed, but no test said so
)

func (o outcome) good() bool { return o == caught || o == caughtHangs }

type result struct {
	outcome outcome
	output  string
	took    time.Duration
}

// checker plants faults into the copy of the module in dir.
type checker struct {
	dir     string
	timeout time.Duration
}

// building is what a build may take beside the tests.
const building = 10 * time.Minute

// try plants a fault, runs its tests and takes it out again.
func (c checker) try(ctx context.Context, m mutant) (r result) {
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	originals := map[string][]byte{}
	defer func() {
		for path, content := range originals {
			if err := os.WriteFile(path, content, 0o644); err != nil {
				r = result{outcome: notPlanted, output: "taking it out again: " + err.Error()}
			}
		}
	}()
	for _, e := range m.edits() {
		path := filepath.Join(c.dir, filepath.FromSlash(e.File))
		content, err := os.ReadFile(path)
		if err != nil {
			return result{outcome: notPlanted, output: err.Error()}
		}
		if n := bytes.Count(content, []byte(e.Old)); n != 1 {
			return result{outcome: notPlanted, output: fmt.Sprintf("%s has the text to be replaced %d times", e.File, n)}
		}
		if originals[path] == nil {
			originals[path] = content
		}
		if err := os.WriteFile(path, bytes.Replace(content, []byte(e.Old), []byte(e.New), 1), 0o644); err != nil {
			return result{outcome: notPlanted, output: err.Error()}
		}
	}
	out, err := c.test(ctx, m.Package, m.tests(), false)
	return result{outcome: verdict(out, err), output: out}
}

var (
	failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: `)
	panicked   = regexp.MustCompile(`(?m)^(panic|fatal error): `)
)

func verdict(out string, err error) outcome {
	switch {
	case err == nil:
		return notCaught
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return notPlanted
	case strings.Contains(out, "panic: test timed out after"):
		return caughtHangs
	case failedTest.MatchString(out) || panicked.MatchString(out):
		return caught
	}
	return noVerdict
}

// unharmed runs every test without a fault: one that is not there, or fails anyway, catches nothing.
func (c checker) unharmed(ctx context.Context, chosen []mutant) error {
	tests := map[string][]string{}
	for _, m := range chosen {
		tests[m.Package] = append(tests[m.Package], m.tests()...)
	}
	for _, pkg := range slices.Sorted(maps.Keys(tests)) {
		names := tests[pkg]
		slices.Sort(names)
		names = slices.Compact(names)
		fmt.Fprintf(os.Stderr, "without a fault: %d tests of %s\n", len(names), pkg)
		out, err := c.test(ctx, pkg, names, true)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("without a planted fault: %s: %w\n%s", pkg, err, out)
		}
		for _, name := range names {
			if !strings.Contains(out, "--- PASS: "+name+" ") {
				return fmt.Errorf("%s has no test %s", pkg, name)
			}
		}
	}
	return nil
}

// test runs tests of a package of the copy. Its own timeout ends it, with the stacks of what hangs; if that does not, we do.
func (c checker) test(ctx context.Context, pkg string, names []string, verbose bool) (string, error) {
	timeout := c.timeout
	if verbose {
		timeout *= time.Duration(len(names))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout+building, errors.New("it did not end"))
	defer cancel()
	// The paths in a binary would be those of this copy, and nothing in the build cache be of use to the next one.
	args := []string{"test", "-p=2", "-trimpath", "-vet=off", "-count=1", "-timeout", timeout.String(), "-run", "^(" + strings.Join(names, "|") + ")$"}
	if verbose {
		args = append(args, "-v")
	} else {
		args = append(args, "-failfast")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as the binary is built; it also links several times faster
	cmd.SysProcAttr = child.EndWithParent()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // the test too, which go has started
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return string(out[max(0, len(out)-1<<20):]), err
}
