package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// killAgainAndAgain kills the job at a random moment of each of as many parts of the feed as there are kills. A part
// begins when the job is back from the kill before.
func (s *show) killAgainAndAgain(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(s.Seed, 1))
	part := s.Over / time.Duration(s.Kills+1)
	if err := s.firstResult(ctx); err != nil {
		return err
	}
	for range s.Kills {
		if err := s.wait(ctx, time.Duration(rng.Float64()*float64(part))); err != nil {
			return err
		}
		before, _ := s.reader.progress()
		killed := time.Now()
		s.job.process().kill()
		s.state.update(func(v *numbers) { v.down = killed })
		if err := s.job.start(); err != nil {
			return err
		}
		if err := s.moreThan(ctx, before); err != nil {
			return err
		}
		took := time.Since(killed)
		s.state.update(func(v *numbers) {
			v.recoveries, v.down = append(v.recoveries, took), time.Time{}
			v.notes = append(v.notes, fmt.Sprintf("killed; results again after %d ms", took.Milliseconds()))
		})
	}
	return nil
}

func (s *show) firstResult(ctx context.Context) error { return s.moreThan(ctx, 0) }

// moreThan waits until the reader has seen more than n results.
func (s *show) moreThan(ctx context.Context, n int64) error {
	timer := time.NewTimer(stuckAfter)
	defer timer.Stop()
	for {
		seen, arrived := s.reader.progress()
		if seen > n {
			return nil
		}
		p := s.job.process()
		select {
		case <-arrived:
		case <-p.ended:
			return fmt.Errorf("the job ended by itself: %w", p.death())
		case <-timer.C:
			return fmt.Errorf("nothing came out for %s: %w", stuckAfter, s.lastWords())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lastWords kills the job and returns what it said last.
func (s *show) lastWords() error {
	p := s.job.process()
	p.kill()
	return p.death()
}

func (s *show) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
