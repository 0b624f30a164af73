package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An edit of the engine must not leave a fault behind that cannot be planted any more.
func TestEveryFaultCanBePlanted(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutants {
		if names[m.Name] {
			t.Errorf("two faults are called %s", m.Name)
		}
		names[m.Name] = true
		for _, e := range m.edits() {
			content, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(e.File)))
			if err != nil {
				t.Errorf("%s: %v", m.Name, err)
				continue
			}
			if n := strings.Count(string(content), e.Old); n != 1 || e.Old == e.New {
				t.Errorf("%s: %s has the text to be replaced %d times, want once:\n%s", m.Name, e.File, n, e.Old)
			}
		}
	}
}

// Nor must a test that is renamed.
func TestEveryFaultHasItsTest(t *testing.T) {
	for _, m := range mutants {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(m.Package), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, f := range files {
			content, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(content)
		}
		for _, name := range m.tests() {
			if !strings.Contains(all.String(), "\nfunc "+name+"(") {
				t.Errorf("%s: %s has no test %s", m.Name, m.Package, name)
			}
		}
	}
}

func TestEveryRuleHasAFault(t *testing.T) {
	mistakes := 0
	for rule := 1; rule <= 20; rule++ {
		found := false
		for _, m := range mutants {
			found = found || strings.HasPrefix(m.Name, fmt.Sprintf("rule-%d-", rule))
		}
		if !found {
			t.Errorf("no planted fault takes rule %d out", rule)
		}
	}
	for _, m := range mutants {
		if !strings.HasPrefix(m.Name, "rule-") {
			mistakes++
		}
	}
	if mistakes < 15 {
		t.Errorf("%d planted faults besides those of the rules, want 15", mistakes)
	}
}

// Only a test that says so has caught a fault.
func TestVerdict(t *testing.T) {
	failed := errors.New("exit status 1")
	for _, c := range []struct {
		out  string
		err  error
		want outcome
	}{
		{"ok  	weir/sink	1.2s", nil, notCaught},
		{"--- FAIL: TestOrder (0.01s)\n    a_test.go:3: x\nFAIL", failed, caught},
		{"=== RUN\n    --- FAIL: TestOrder/sub (0.01s)\nFAIL", failed, caught},
		{"panic: send on closed channel\n\ngoroutine 1", failed, caught},
		{"panic: test timed out after 2m0s\n	running tests:", failed, caughtHangs},
		{"# weir/sink\nsink/queue.go:3: x declared and not used\nFAIL	weir/sink [build failed]", failed, notPlanted},
		{"signal: killed", failed, noVerdict},
	} {
		if got := verdict(c.out, c.err); got != c.want {
			t.Errorf("%q: %s, want %s", c.out, got, c.want)
		}
	}
}
