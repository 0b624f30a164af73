package harness

import (
	"context"
	"testing"
	"time"
)

// Until polls the condition every 20 ms until it holds. It fails the test at the deadline, with what the condition said
// last.
func Until(t testing.TB, within time.Duration, what string, holds func() (bool, string)) {
	t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, state := holds()
		if ok {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("not within %s: %s: %s", within, what, state)
		case <-tick.C:
		}
	}
}

// Context ends with the test, and after the given time at the latest.
func Context(t testing.TB, within time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}

// Pass passes the given time and reports whether it did: false if the context ended first.
func Pass(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// For passes the given time, or less if the test ends. It is for the moments at which a process is hurt and for watching
// that nothing happens; whatever should happen is waited for with Until.
func For(t testing.TB, d time.Duration) { Pass(t.Context(), d) }
