package main

import (
	"context"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/integration/proxy"
)

// scenario is a fault. It is done to a job that writes results, and leaves a process that runs.
type scenario struct {
	name string
	hurt func(ctx context.Context, t *trial) error
}

var scenarios = []scenario{
	{"held-kill", heldKill},
	{"kills", kills},
	{"freeze", freeze},
	{"held-freeze", heldFreeze},
}

// outage is longer than the common transaction timeout: the broker has aborted what was open when it is over.
func (t *trial) outage() time.Duration { return 2 * t.bench.settings.timeout }

// hold lets no request to commit through from now on, and returns when one has come. Nothing is known of it by the broker.
func (t *trial) hold(ctx context.Context) (*proxy.Armed, error) {
	held := t.proxy.Add(proxy.Rule{Key: kmsg.EndTxn, Match: proxy.Commits, Times: -1, Action: proxy.DropRequest()})
	err := held.Wait(ctx, 1)
	harness.Pass(ctx, 300*time.Millisecond)
	return held, err
}

// heldKill: no request to commit arrives any more, then the process is killed, and started again after the broker has
// aborted its transactions.
func heldKill(ctx context.Context, t *trial) error {
	held, err := t.hold(ctx)
	if err != nil {
		return err
	}
	t.kill()
	held.Remove()
	harness.Pass(ctx, t.outage())
	return t.start()
}

// heldFreeze is heldKill with SIGSTOP and SIGCONT.
func heldFreeze(ctx context.Context, t *trial) error {
	held, err := t.hold(ctx)
	if err != nil {
		return err
	}
	err = t.signal(syscall.SIGSTOP)
	held.Remove()
	harness.Pass(ctx, t.outage())
	if err != nil {
		return err
	}
	return t.signal(syscall.SIGCONT)
}

// kills: five times SIGKILL and an immediate start, in turn at a random moment of the work and of the start.
func kills(ctx context.Context, t *trial) error {
	for i := range 5 {
		if i%2 == 0 {
			t.progress(ctx, time.Minute)
			harness.Pass(ctx, time.Duration(t.rand.Int64N(int64(3*time.Second))))
		} else {
			harness.Pass(ctx, time.Duration(t.rand.Int64N(int64(8*time.Second))))
		}
		t.kill()
		if err := t.start(); err != nil {
			return err
		}
	}
	return nil
}

// freeze: SIGSTOP at a random moment for longer than the transaction timeout.
func freeze(ctx context.Context, t *trial) error {
	harness.Pass(ctx, time.Duration(t.rand.Int64N(int64(2*time.Second))))
	if err := t.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	harness.Pass(ctx, t.outage())
	return t.signal(syscall.SIGCONT)
}
