package job_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
)

// line is a network that can stand still, as for a process that is frozen.
type line struct {
	mu sync.Mutex
	// open is closed while the line works.
	open chan struct{}
}

func newLine() *line {
	l := &line{open: make(chan struct{})}
	close(l.open)
	return l
}

func (l *line) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = make(chan struct{})
}

func (l *line) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.open)
}

func (l *line) wait() {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	<-open
}

func (l *line) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	l.wait()
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &lineConn{conn, l}, nil
}

type lineConn struct {
	net.Conn
	line *line
}

func (c *lineConn) Write(b []byte) (int, error) {
	c.line.wait()
	return c.Conn.Write(b)
}

// A process whose attempt ends for another reason than a fencing (its checkpoint expired while it was frozen) looks before
// it takes the job back: another process runs it by then.
func TestAFrozenProcessWhoseCheckpointExpiredDoesNotTakeTheJobBack(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	o.Checkpoint.Timeout, o.Checkpoint.TransactionTimeout = 500*time.Millisecond, 5*time.Second
	slow := newLine()
	frozen := o
	frozen.Kafka.Dialer = slow.dial
	expired := make(chan struct{})
	var once sync.Once
	frozen.Listener = &checkpoint.Listener{OnFailed: func(e checkpoint.FailedEvent) {
		if e.Expired {
			once.Do(func() { close(expired) })
		}
	}}
	c.feed("in", 0, 100, 10)
	first := start(t, sums(1), frozen)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(100, 10)) == nil })

	// A checkpoint is under way, and nothing of it leaves the process.
	c.feed("in", 100, 100, 10)
	slow.hold()
	second := start(t, sums(1), o)
	c.feed("in", 200, 100, 10)
	eventually(t, "the results of the second", func() bool { return diff(c.read("out"), wantSums(300, 10)) == nil })
	attempt := second.Status().Attempt
	if st := first.Status(); st.Phase == runtime.Running && st.Error == "" {
		select {
		case <-expired:
		case <-time.After(5 * time.Second): // there was nothing under way: it is fenced instead
		}
	}
	slow.release()
	var taken *checkpoint.TakenOverError
	if err := first.wait(); !errors.As(err, &taken) {
		t.Errorf("the first process ended with %v", err)
	}
	c.feed("in", 300, 100, 10)
	eventually(t, "more results of the second", func() bool { return diff(c.read("out"), wantSums(400, 10)) == nil })
	if second.Status().Attempt != attempt || second.Metrics().Restarts.Load() != 0 {
		t.Error("the second process was disturbed")
	}
	second.stop()
}
