package checkpoint

import (
	"errors"
	"testing"
	"time"
)

func TestFencedAttempt(t *testing.T) {
	own := &Pointer{Checkpoint: 43, Attempt: "own", Host: "a"}
	before := &Pointer{Checkpoint: 42, Attempt: "before", Host: "a"}
	sibling := &Pointer{Checkpoint: 42, Attempt: "sibling", Host: "b"}
	newer := &Pointer{Checkpoint: 44, Attempt: "7f3c0000-1", Host: "b"}
	for _, tc := range []struct {
		name  string
		state Fenced
		want  FencedAction
	}{
		{"a transaction timed out", Fenced{FirstCommitted: true, Began: 42, Last: own}, FencedRecover},
		{"the answer of the own first commit was lost", Fenced{Began: 42, Last: own}, FencedRecover},
		{"taken over", Fenced{FirstCommitted: true, Began: 42, Last: newer}, FencedStop},
		{"taken over before the own first commit", Fenced{Began: 42, Last: newer}, FencedStop},
		{"another process is recovering", Fenced{FirstCommitted: true, Began: 42, Last: own, Taken: true}, FencedWatch},
		{"the other process has died", Fenced{FirstCommitted: true, Began: 42, Last: own, Taken: true, Watched: WatchFor}, FencedRecover},
		{"the other process has committed", Fenced{FirstCommitted: true, Began: 42, Last: newer, Taken: true}, FencedStop},
		{"two recover at the same time", Fenced{Began: 42, Last: before}, FencedPause},
		{"two start for the first time", Fenced{Began: 0, Last: nil}, FencedPause},
		{"a first start meets one that has begun", Fenced{Began: 0, Last: before}, FencedStop},
		{"the topic lost the own pointer", Fenced{FirstCommitted: true, Began: 42, Last: nil}, FencedRecover},
		{"the own pointer is not to be seen yet", Fenced{FirstCommitted: true, Began: 42, Last: before}, FencedRecover},
		{"the own pointer is not to be seen yet, that of an attempt fenced on the way is", Fenced{FirstCommitted: true, Began: 42, Last: sibling}, FencedRecover},
		{"nor was this attempt fenced by a timeout", Fenced{FirstCommitted: true, Began: 42, Last: before, Taken: true}, FencedWatch},
		{"the very first pointer is not to be seen yet, and another process is recovering", Fenced{FirstCommitted: true, Last: nil, Taken: true}, FencedWatch},
	} {
		tc.state.Job, tc.state.Attempt = "clicks", "own"
		got := DecideFenced(tc.state)
		if got.Action != tc.want || (got.Err != nil) != (tc.want == FencedStop) || (got.Pause > 0) != (tc.want == FencedPause || tc.want == FencedWatch) || got.Reason == "" {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}

func TestTakenOverErrorNamesWhoRunsTheJob(t *testing.T) {
	err := error(DecideFenced(Fenced{Job: "clicks", Attempt: "own", Last: &Pointer{Checkpoint: 44, Attempt: "7f3c1234-5678", Host: "b"}}).Err)
	if want := "fenced: another process (attempt 7f3c1234 on host b) runs this job now: checkpoint 44 is its own"; err.Error() != want {
		t.Errorf("got %s, want %s", err, want)
	}
	var exit interface{ ExitCode() int }
	if !errors.As(err, &exit) || exit.ExitCode() != ExitTakenOver {
		t.Error("no exit code of its own")
	}
}

func TestPauseGrowsAndIsSpread(t *testing.T) {
	for _, tc := range []struct {
		tries  int
		random float64
		want   time.Duration
	}{{0, 0, 125 * time.Millisecond}, {0, 0.5, 250 * time.Millisecond}, {1, 0.5, 500 * time.Millisecond}, {100, 0.5, fencedPauseMax}, {100, 0.999, 5996 * time.Millisecond}} {
		if got := DecideFenced(Fenced{Attempt: "own", Tries: tc.tries, Random: tc.random}).Pause; got != tc.want {
			t.Errorf("try %d, random %v: %s, want %s", tc.tries, tc.random, got, tc.want)
		}
	}
}
