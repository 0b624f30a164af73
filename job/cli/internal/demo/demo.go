package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/weirstream/weir/examples"
	"github.com/weirstream/weir/job/cli/internal/clicks"
)

// ErrDifferent means that the output was not what it must be.
var ErrDifferent = errors.New("the output differs from what a plain loop computes")

const (
	// stuckAfter is how long nothing may come out while there is something to come.
	stuckAfter  = 20 * time.Second
	startWithin = 15 * time.Second
	users       = 500
)

// show is one demonstration.
type show struct {
	Options
	dir    string
	broker string
	client *kgo.Client
	reader *reader
	job    *jobProcess
	source clicks.Source
	want   clicks.Sums
	sent   atomic.Int64
	state  state
}

// Run shows the demonstration. It returns nil if the output was exactly right, [ErrDifferent] if not, and any other error
// if it did not come to that. Everything it started has ended when it returns.
func Run(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "weir-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := &show{Options: o, dir: dir, source: clicks.Source{Seed: o.Seed, Users: users}}
	broker, err := s.startBroker(ctx)
	if err != nil {
		return err
	}
	defer broker.kill()
	if s.client, err = kgo.NewClient(kgo.SeedBrokers(s.broker), kgo.ProducerLinger(5*time.Millisecond)); err != nil {
		return err
	}
	defer s.client.Close()
	if s.reader, err = newReader(s.broker); err != nil {
		return err
	}
	defer s.reader.cl.Close()
	if err := s.prepareJob(); err != nil {
		return err
	}
	if err := s.job.start(); err != nil {
		return err
	}
	defer func() { s.job.process().kill() }()
	return s.perform(ctx)
}

// startBroker starts the broker's process and learns its address.
func (s *show) startBroker(ctx context.Context) (*process, error) {
	cmd := exec.Command(s.Program, "demo-broker")
	cmd.Env = append(os.Environ(), s.Env...)
	address := make(chan string, 1)
	p, err := startProcess(cmd, func(line string) {
		select {
		case address <- line:
		default:
		}
	}, nil)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(startWithin)
	defer timer.Stop()
	select {
	case s.broker = <-address:
		return p, nil
	case <-p.ended:
		return nil, p.death()
	case <-timer.C:
		err = errors.New("the broker does not start")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.kill()
	return nil, err
}

func (s *show) prepareJob() error {
	yaml, err := examples.Files.ReadFile("clicks.yaml")
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir, "clicks.yaml")
	if err := os.WriteFile(file, yaml, 0o644); err != nil {
		return err
	}
	s.job = &jobProcess{o: &s.Options, dir: s.dir, file: file, broker: s.broker}
	return nil
}

// perform feeds, kills, watches and compares.
func (s *show) perform(ctx context.Context) error {
	for i := range s.Events {
		s.want.Add(s.source.At(i))
	}
	fmt.Fprintf(s.Out, "%s events of %d users go to topic %s; %s counts them and adds up their amounts, for each user.\n"+
		"Its process is killed with SIGKILL %d times at random moments (seed %d).\n\n",
		thousands(s.Events), users, clicks.In, "examples/clicks.yaml", s.Kills, s.Seed)
	s.state.update(func(st *numbers) { st.events, st.doing = s.Events, "starting" })

	running, stop := context.WithCancel(ctx)
	defer stop()
	var shown errgroup.Group
	seen, end := context.WithCancel(ctx)
	defer end()
	shown.Go(func() error { view(seen, s.Out, s.Live, &s.state, s.broker); return nil })

	background, watching := errgroup.WithContext(running)
	background.Go(func() error { return s.reader.run(watching) })
	background.Go(func() error { return s.watch(watching) })
	act := func() error {
		acts, both := errgroup.WithContext(watching)
		done := make(chan struct{})
		acts.Go(func() error { return s.feed(both, done) })
		acts.Go(func() error {
			defer close(done)
			return s.killAgainAndAgain(both)
		})
		if err := acts.Wait(); err != nil {
			return err
		}
		return s.drain(watching)
	}
	err := act()
	end()
	shown.Wait()
	if failed := watching.Err(); failed != nil && running.Err() == nil {
		err = background.Wait() // why the reader or the watch ended is why everything did
	}
	if err == nil {
		err = s.compare()
	}
	if err == nil || errors.Is(err, ErrDifferent) {
		s.next(ctx)
	}
	stop()
	background.Wait()
	return err
}

// feed writes the input. The last twentieth of it trickles until the kills are done, since a job that is back has to have
// something to do, by which one sees that it is.
func (s *show) feed(ctx context.Context, killed <-chan struct{}) error {
	at := s.Events * 19 / 20
	if err := Feed(ctx, s.client, clicks.In, s.source, 0, at, s.Over, &s.sent); err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for few := max(1, (s.Events-at)/500); ; {
		to := min(at+few, s.Events)
		select {
		case <-tick.C:
		case <-killed:
			to = s.Events
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := Feed(ctx, s.client, clicks.In, s.source, at, to, 0, &s.sent); err != nil {
			return err
		}
		if at = to; at == s.Events {
			return nil
		}
	}
}

// watch keeps the numbers on the screen up to date.
func (s *show) watch(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		st, ok := s.job.status(ctx)
		out, _ := s.reader.progress()
		s.state.update(func(v *numbers) {
			v.fed, v.out = s.sent.Load(), out
			if ok {
				v.doing = string(st.Phase)
				v.checkpoint = max(v.checkpoint, st.Checkpoint)
				if st.LastCheckpointMillis > 0 {
					v.took = st.LastCheckpointMillis
				}
			}
		})
	}
}
