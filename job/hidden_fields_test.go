package job_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// A state that a restore would lose is refused before anything starts, and leaves nothing behind.
func TestAStateThatARestoreWouldLoseIsRefusedAtOnce(t *testing.T) {
	c := newCluster(t, "in", "out")
	type hidden struct{ n int64 }
	err := start(t, growing(func(acc hidden, n int64) (hidden, error) { return hidden{acc.n + n}, nil }), c.options(10*time.Millisecond)).wait()
	if err == nil || !strings.Contains(err.Error(), `operator totals: state "accumulator": job_test.hidden.n is not exported`) {
		t.Errorf("got %v", err)
	}
	topics, err := kadm.NewClient(c.client).ListTopics(t.Context())
	if err != nil || topics.Has("weir.growing.checkpoints") {
		t.Errorf("%v, %v", topics.Names(), err)
	}
}
