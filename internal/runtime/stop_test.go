package runtime

import (
	"errors"
	"testing"

	"github.com/weirstream/weir/checkpoint"
)

// C37: an attempt that ends when its last checkpoint is committed and its savepoint not whole leaves a pointer that says that the
// job has stopped. Nobody is told that it runs before the next attempt has committed another one, or has failed too.
func TestAStopThatFailsBehindItsLastCheckpointIsAnsweredByTheNextAttempt(t *testing.T) {
	j := NewJob(Config{Job: "sums", Checkpoint: checkpoint.Options{}})
	j.ran.Store(true)
	for _, c := range []struct {
		name      string
		committed bool
		attempts  int // that fail until there is an outcome
	}{
		{"before its last checkpoint", false, 1},
		{"behind it", true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, err := j.RequestStop(StopRequest{Savepoint: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.attempts {
				if now := j.StopStatus(); now.ID != st.ID || now.Phase != StopUnderWay {
					t.Fatalf("%+v after %d attempts", now, i)
				}
				s := j.tryStop()
				if i == 0 && c.committed {
					j.lastCommitted()
				}
				if failing := j.failed(s); (failing != nil) != (i > 0) {
					t.Errorf("attempt %d is to say that the job runs, for %v", i, failing)
				}
				j.attemptFailed(errors.New("the broker is gone"))
			}
			if now := j.StopStatus(); now.Phase != StopFailed || now.Error != "the broker is gone" {
				t.Errorf("%+v, want that the job runs", now)
			}
		})
	}
}
