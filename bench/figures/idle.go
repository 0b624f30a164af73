package main

import (
	"context"
	"net/http"
	"time"
)

// start measures from the start of a process to the first "ready" of its HTTP address, for a job that has nothing to
// read: first as a new job, which makes its checkpoint topic, then as one that goes on.
func (b *bench) start(ctx context.Context) error {
	for _, yaml := range []bool{false, true} {
		var first, again []float64
		for range b.starts {
			s, err := b.idleJob(ctx, yaml)
			if err != nil {
				return err
			}
			for _, into := range []*[]float64{&first, &again} {
				p, took, err := b.startIdle(ctx, s)
				if err != nil {
					return err
				}
				if err := p.stop(); err != nil {
					return err
				}
				*into = append(*into, millis(took))
			}
		}
		program := spec{yaml: yaml}.program()
		if err := b.record("start-new", program, "ms", first); err != nil {
			return err
		}
		if err := b.record("start-again", program, "ms", again); err != nil {
			return err
		}
	}
	return nil
}

// idleMemory measures what such a job holds in memory once it has been idle for a while.
func (b *bench) idleMemory(ctx context.Context) error {
	for _, yaml := range []bool{false, true} {
		s, err := b.idleJob(ctx, yaml)
		if err != nil {
			return err
		}
		p, _, err := b.startIdle(ctx, s)
		if err != nil {
			return err
		}
		defer p.kill()
		settled := time.Now().Add(b.settle)
		if err := b.until(ctx, p, "idleness", 100*time.Millisecond, func() (bool, error) { return time.Now().After(settled), nil }); err != nil {
			return err
		}
		megabytes, err := p.resident()
		if err != nil {
			return err
		}
		if err := p.stop(); err != nil {
			return err
		}
		if err := b.record("memory", s.program(), "MB", []float64{megabytes}); err != nil {
			return err
		}
	}
	return nil
}

// idleJob is a new job whose topics are empty, with everything at its default.
func (b *bench) idleJob(ctx context.Context, yaml bool) (spec, error) {
	job := b.newJob()
	s := spec{job: job, in: job + "-in", out: job + "-out", interval: 200 * time.Millisecond, yaml: yaml}
	if err := b.topic(ctx, s.in); err != nil {
		return s, err
	}
	return s, b.topic(ctx, s.out)
}

// startIdle starts a job and waits until it is ready.
func (b *bench) startIdle(ctx context.Context, s spec) (*process, time.Duration, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, 0, err
	}
	s.address = address
	p, err := b.run(s)
	if err != nil {
		return nil, 0, err
	}
	err = b.until(ctx, p, "readiness", 2*time.Millisecond, func() (bool, error) {
		status, _ := get(address, "/readyz")
		return status == http.StatusOK, nil
	})
	if err != nil {
		p.kill()
		return nil, 0, err
	}
	return p, time.Since(p.started), nil
}
