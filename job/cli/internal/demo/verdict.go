package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/job/cli/internal/clicks"
)

// drain waits until all results are there, or nothing comes any more; then until the reader has read all there is, so that
// a result too many is seen as well.
func (s *show) drain(ctx context.Context) error {
	for {
		seen, _ := s.reader.progress()
		if seen >= s.want.Count() {
			break
		}
		if err := s.moreThan(ctx, seen); err != nil {
			s.state.note(err.Error())
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !s.Keep && s.job.process().running() {
		if err := s.job.stop(20 * time.Second); err != nil {
			return err
		}
		s.state.update(func(v *numbers) { v.doing = "stopped" })
	}
	return s.readAll(ctx)
}

func (s *show) readAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	listed, err := kadm.NewClient(s.client).ListCommittedOffsets(ctx, clicks.Out)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return fmt.Errorf("end of topic %s: %w", clicks.Out, err)
	}
	ends := map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
	for !s.reader.reached(ends) {
		if err := s.wait(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("topic %s was not read to its end: %w", clicks.Out, err)
		}
	}
	out, _ := s.reader.progress()
	s.state.update(func(v *numbers) { v.fed, v.out = s.sent.Load(), out })
	return nil
}

// compare says how what the reader saw differs from what a plain loop over the input computes.
func (s *show) compare() error {
	got := s.reader.results()
	seen, _ := s.reader.progress()
	d := s.want.Compare(got)
	st := s.state.take()
	verdict := "as a plain loop over the input computes it"
	if !d.None() {
		verdict = "NOT as a plain loop over the input computes it"
	}
	fmt.Fprintf(s.Out, "\n%s results after %d kills, %s: lost %d, doubled %d, out of order %d, wrong sums %d.\n",
		thousands(seen), len(st.recoveries), verdict, d.Lost, d.Doubled, d.Disordered, d.Wrong)
	for _, e := range d.Examples {
		fmt.Fprintln(s.Out, "  "+e)
	}
	if !d.None() {
		fmt.Fprintf(s.Out, "Again with: %s demo --seed %d\n", s.Command, s.Seed)
		return ErrDifferent
	}
	return nil
}

// next prints what to try next, and waits if everything is to stay.
func (s *show) next(ctx context.Context) {
	if !s.Keep {
		fmt.Fprintf(s.Out, `
Next:
  %[1]s demo --keep                    the same, and it stays, to look at and to play with
  %[1]s validate examples/clicks.yaml  check a job without running it
  KAFKA_BROKERS=localhost:9092 %[1]s run examples/clicks.yaml
`, s.Command)
		return
	}
	address := s.job.http()
	fmt.Fprintf(s.Out, `
Everything stays until Ctrl-C. In another terminal:
  %[1]s topics read %[4]s --brokers %[2]s --count 5
  %[1]s generate --topic %[5]s --brokers %[2]s --rate 100
  curl http://%[3]s/metrics
  curl http://%[3]s/api/v1/status
  KAFKA_BROKERS=%[2]s %[1]s checkpoints list %[6]s
  %[1]s savepoint create clicks-per-user --address %[3]s --dir %[7]s/savepoint
`, s.Command, s.broker, address, clicks.Out, clicks.In, s.job.file, s.dir)
	p := s.job.process()
	select {
	case <-ctx.Done():
	case <-p.ended:
		fmt.Fprintln(s.Out, p.death())
	}
}
