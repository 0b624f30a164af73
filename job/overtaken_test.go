package job_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/runtime"
)

// Between the last pointer that a recovery reads and its own first checkpoint, another process recovers and commits. The
// group is ahead of that pointer then, and no record of the checkpoint topic is lost.
func TestRecoveryThatIsOvertakenIsNotTakenForLostRecords(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	c.feed("in", 0, 1000, 10)
	read, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := o
	slow.Fault = func(s fault.Step) {
		if s == fault.PointerRead {
			once.Do(func() {
				close(read)
				<-goOn
			})
		}
	}
	first := start(t, sums(1), slow)
	<-read
	second := start(t, sums(1), o)
	eventually(t, "the second to run", func() bool { return second.Status().Phase == runtime.Running })
	close(goOn)
	err := <-first.done
	var taken *checkpoint.TakenOverError
	if !errors.As(err, &taken) {
		t.Errorf("the process that was overtaken ended with %v, want a TakenOverError", err)
	}
	eventually(t, "all results", func() bool { return diff(c.read("out"), wantSums(1000, 10)) == nil })
	second.stop()
}
