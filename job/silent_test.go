package job_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A commit whose connection has gone silent: what is asked after it goes over another connection, so the job recovers at
// once and does not wait for another process, as it would if it could not find out who has its slots.
func TestACommitWithoutAnAnswerDoesNotHoldTheRecoveryUp(t *testing.T) {
	c := newCluster(t, "in", "out")
	n := 300
	c.feed("in", 0, n, 7)
	o := c.options(10 * time.Millisecond)
	o.Producer.RequestTimeout = time.Second
	release := make(chan struct{})
	var commits atomic.Int64
	c.fake.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		// The third: the attempt's own first checkpoint is committed before.
		if commits.Add(1) == 3 {
			c.fake.SleepControl(func() { <-release })
		}
		return nil, nil, false
	})
	defer close(release)
	j := start(t, sums(1), o)
	began := time.Now()
	eventually(t, "a restart", func() bool {
		if commits.Load() < 3 {
			c.feed("in", n, 1, 7)
			n++
		}
		return j.Metrics().Restarts.Load() > 0
	})
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the attempt ended after %s", took)
	}
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(n, 7)) == nil })
	j.stop()
}
