package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/integration/child"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/integration/proxy"
)

// bench is what all trials share.
type bench struct {
	cluster  *harness.Cluster
	programs programs
	dir      string
	rate     int
	keys     int
	settings settings
}

// trial is one system in one scenario.
type trial struct {
	*bench
	system system
	s      settings
	proxy  *proxy.Proxy
	reader *reader
	rand   *rand.Rand
	log    *os.File

	cmd   *exec.Cmd
	ended chan struct{}
	// exits are the exit codes of processes that ended by themselves, and were started again.
	exits []int
}

// outcome is what a trial gave.
type outcome struct {
	tally
	through bool // whether the end of the input came out
	exits   []int
	log     string
	notes   []string
}

// forever keeps records whatever their timestamps say.
var forever = map[string]*string{"retention.ms": kmsg.StringPtr("-1")}

// patience is how long a job may be without output after a fault before its process is started again, as an operator would.
const patience = 90 * time.Second

// try runs a scenario on a system.
func (b *bench) try(ctx context.Context, sys system, sc scenario, round int) (o outcome, err error) {
	s := b.settings
	s.id = harness.Name(sys.name)
	s.in, s.out = s.id+"-in", s.id+"-out"
	s.dir = filepath.Join(b.dir, fmt.Sprintf("%s-%d", sc.name, round), sys.name)
	if sys.timeout != 0 {
		s.timeout = sys.timeout
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return o, err
	}
	if _, err := b.cluster.Admin.CreateTopics(ctx, 4, 1, forever, s.in, s.out); err != nil {
		return o, err
	}
	t := &trial{bench: b, system: sys, s: s, rand: rand.New(rand.NewPCG(uint64(round), 1))}
	if t.proxy, err = proxy.Start(proxy.Options{Brokers: b.cluster.Brokers}); err != nil {
		return o, err
	}
	defer t.proxy.Close()
	t.s.brokers = t.proxy.Addr()
	o.log = s.dir + ".log"
	if t.log, err = os.Create(o.log); err != nil {
		return o, err
	}
	defer t.log.Close()

	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	if t.reader, err = startReader(reading, b.cluster.Brokers, s.out); err != nil {
		return o, err
	}
	feeding, stopFeeding := context.WithCancel(ctx)
	defer stopFeeding()
	var want harness.Sums
	fed := make(chan error, 1)
	go func() {
		var err error
		want, err = feed(feeding, b.cluster.Brokers, s.in, harness.Numbers{Seed: uint64(round), Keys: b.keys}, b.rate)
		fed <- err
	}()

	if err := t.start(); err != nil {
		return o, err
	}
	defer t.kill()
	if !t.progress(ctx, 2*time.Minute) {
		return o, errors.New("no output before the fault")
	}
	if err := sc.hurt(ctx, t); err != nil {
		return o, err
	}
	if !t.progress(ctx, patience) {
		o.notes = append(o.notes, "no output within "+patience.String()+": killed and started again")
		t.kill()
		if err := t.start(); err != nil {
			return o, err
		}
		if !t.progress(ctx, patience) {
			o.notes = append(o.notes, "still no output")
		}
	}
	harness.Pass(ctx, 5*time.Second)
	stopFeeding()
	if err := <-fed; err != nil {
		return o, err
	}
	var got harness.Sums
	o.through = t.wait(ctx, time.Minute, func() bool {
		got, err = t.reader.sums()
		return err == nil && through(want, got)
	})
	// What would come twice comes now.
	harness.Pass(ctx, 5*time.Second)
	t.terminate()
	harness.Pass(ctx, 3*time.Second)
	if got, err = t.reader.sums(); err != nil {
		return o, err
	}
	o.tally, o.exits = compare(want, got), t.exits
	return o, ctx.Err()
}

// start starts the job, from its last checkpoint if it has one.
func (t *trial) start() error {
	args, err := t.system.command(t.programs, t.s)
	if err != nil {
		return err
	}
	args = append(args, t.system.extra...)
	fmt.Fprintf(t.log, "=== %s start: %s\n", time.Now().Format("15:04:05"), strings.Join(args, " "))
	cmd, ended := exec.Command(args[0], args[1:]...), make(chan struct{})
	cmd.Dir = t.s.dir
	cmd.Stdout, cmd.Stderr = t.log, t.log
	cmd.SysProcAttr = child.EndWithParent()
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		cmd.Wait()
		close(ended)
	}()
	t.cmd, t.ended = cmd, ended
	return nil
}

func (t *trial) kill() {
	fmt.Fprintf(t.log, "=== %s SIGKILL\n", time.Now().Format("15:04:05"))
	t.cmd.Process.Kill()
	<-t.ended
}

func (t *trial) signal(s syscall.Signal) error {
	fmt.Fprintf(t.log, "=== %s %s\n", time.Now().Format("15:04:05"), s)
	return t.cmd.Process.Signal(s)
}

// terminate asks the job to end, and ends it after a while.
func (t *trial) terminate() {
	t.signal(syscall.SIGTERM)
	timer := time.NewTimer(15 * time.Second)
	defer timer.Stop()
	select {
	case <-t.ended:
	case <-timer.C:
		t.kill()
	}
}

// progress waits until the reader sees something new and reports whether it did.
func (t *trial) progress(ctx context.Context, within time.Duration) bool {
	before := t.reader.seen()
	return t.wait(ctx, within, func() bool { return t.reader.seen() > before })
}

// wait polls until a condition holds and reports whether it did. A process that ends meanwhile is started again, as a
// supervisor would, five times at most.
func (t *trial) wait(ctx context.Context, within time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); {
		if holds() {
			return true
		}
		if !harness.Pass(ctx, 100*time.Millisecond) {
			return false
		}
		select {
		case <-t.ended:
			if t.exits = append(t.exits, t.cmd.ProcessState.ExitCode()); len(t.exits) > 5 || t.start() != nil {
				return false
			}
		default:
		}
	}
	return false
}
