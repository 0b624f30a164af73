package checkpoint

import (
	"strings"
	"testing"
	"time"
)

func restartOptions(o RestartOptions) RestartOptions {
	o.EnsureDefaults()
	return o
}

// failures feeds failures at the given times (milliseconds) to a strategy and returns the delays, or "give up".
func failures(o RestartOptions, times ...int) string {
	var h History
	var out []string
	for _, ms := range times {
		r := o.Decide(h, CauseOther, 0, epoch.Add(time.Duration(ms)*time.Millisecond), 0.5)
		h = r.History
		if r.GiveUp {
			out = append(out, "give up")
		} else {
			out = append(out, r.Delay.String())
		}
	}
	return strings.Join(out, " ")
}

func TestRestartStrategies(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options RestartOptions
		times   []int
		want    string
	}{
		{"none", RestartOptions{Strategy: RestartNone}, []int{0}, "give up"},
		{"fixed_delay counts over the job's life", RestartOptions{Strategy: RestartFixedDelay, Attempts: 2}, []int{0, 1000, 9_999_999}, "1s 1s give up"},
		{"failure_rate gives up above the rate", RestartOptions{Strategy: RestartFailureRate, MaxFailures: 2}, []int{0, 30_000, 59_999}, "1s 1s give up"},
		{"failure_rate forgets", RestartOptions{Strategy: RestartFailureRate, MaxFailures: 2}, []int{0, 30_000, 60_000, 90_000}, "1s 1s 1s 1s"},
		{"exponential_delay grows up to its bound", RestartOptions{MaxBackoff: time.Second}, []int{0, 200, 500, 1000, 2000, 4000, 6000}, "100ms 200ms 400ms 800ms 1s 1s 1s"},
		{"exponential_delay begins anew after a long run", RestartOptions{}, []int{0, 200, 200 + 3_600_000 + 200}, "100ms 200ms 100ms"},
		{"the time of the delay does not count", RestartOptions{}, []int{0, 200, 200 + 3_600_000 + 199}, "100ms 200ms 400ms"},
		{"exponential_delay with a limit", RestartOptions{Attempts: 2}, []int{0, 200, 500}, "100ms 200ms give up"},
	} {
		if got := failures(restartOptions(tc.options), tc.times...); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestJitterStaysWithinItsBounds(t *testing.T) {
	o := restartOptions(RestartOptions{JitterFactor: 0.5})
	second := History{Last: epoch, Backoff: 500 * time.Millisecond}
	for random, want := range map[float64]time.Duration{0: 500 * time.Millisecond, 0.5: time.Second, 0.75: 1250 * time.Millisecond} {
		if got := o.Decide(second, CauseOther, 0, epoch.Add(time.Second), random).Delay; got != want {
			t.Errorf("random %v: %s, want %s", random, got, want)
		}
	}
	if got := o.Decide(History{}, CauseOther, 0, epoch, 0).Delay; got != o.InitialBackoff {
		t.Errorf("below initial_backoff: %s", got)
	}
}

func TestSomeCausesAreNeverRestarted(t *testing.T) {
	o := restartOptions(RestartOptions{})
	for cause, want := range map[Cause]string{CauseTakenOver: "another process runs the job", CausePermanent: "a restart does not mend it"} {
		if r := o.Decide(History{}, cause, 5, epoch, 0); !r.GiveUp || r.Reason != want {
			t.Errorf("%+v", r)
		}
	}
}

func TestCheckpointFailuresInARowEndTheJob(t *testing.T) {
	o := restartOptions(RestartOptions{})
	var h History
	fail := func(cause Cause) bool {
		r := o.Decide(h, cause, 2, epoch, 0.5)
		h = r.History
		return r.GiveUp
	}
	if fail(CauseCheckpoint) || fail(CauseCheckpoint) {
		t.Fatal("two are tolerable")
	}
	h = h.Completed()
	if fail(CauseCheckpoint) || fail(CauseOther) || fail(CauseCheckpoint) {
		t.Fatal("the count begins again with a checkpoint that completed")
	}
	if !fail(CauseCheckpoint) {
		t.Fatal("the third in a row ends the job; another failure between them neither counts nor forgives")
	}
	if r := o.Decide(History{}, CauseCheckpoint, 0, epoch, 0); !r.GiveUp {
		t.Error("0 tolerates none")
	}
}
