package jobtest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/internal/fault"
)

// Step is a moment of a recovery or a checkpoint, such as "snapshot" or "commit-sent"; docs/testing.md says what each is.
type Step = fault.Step

// Steps returns every step, in the order in which a job takes them.
func Steps() []Step { return fault.Steps() }

// ErrCrashed is how a run ends that was crashed.
var ErrCrashed = errors.New("crashed by the test")

// known ends the test if there is no such step.
func known(t testing.TB, s Step) {
	t.Helper()
	steps := Steps()
	if slices.Contains(steps, s) {
		return
	}
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = string(s)
	}
	t.Fatalf("there is no step %q; the steps are %s", s, strings.Join(names, ", "))
}

// plan says what happens when a step has been taken so many times more.
type plan struct {
	step Step
	left int
	do   func(*Run)
}
