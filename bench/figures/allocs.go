package main

import (
	"context"
	"errors"
	"time"
)

// allocs counts the allocations of the whole process, source and sink included, between 30 and 90 % of W3's output. They
// are asked for only twice, since that allocates too.
func (b *bench) allocs(ctx context.Context) error {
	job := b.newJob()
	s := spec{job: job, in: b.big, out: job + "-out", interval: 200 * time.Millisecond}
	if err := b.topic(ctx, s.out); err != nil {
		return err
	}
	defer b.drop(ctx, s.out)
	_, total, err := b.ends(ctx, s.in, false)
	if err != nil {
		return err
	}
	if s.address, err = freeAddress(); err != nil {
		return err
	}
	p, err := b.run(s)
	if err != nil {
		return err
	}
	defer p.kill()
	var records, mallocs [2]float64
	for i, share := range []float64{0.3, 0.9} {
		if err := b.until(ctx, p, "output", 10*time.Millisecond, b.committed(ctx, s.out, int64(share*float64(total)))); err != nil {
			return err
		}
		_, page := get(s.address, "/metrics")
		records[i], mallocs[i] = metric(page, "weir_records_in_total"), metric(page, "go_memstats_mallocs_total")
	}
	if err := p.stop(); err != nil {
		return err
	}
	if records[1] <= records[0] {
		return errors.New("the input is too small: all of it was read before a third was written")
	}
	return b.record("allocs", "weir", "per record", []float64{(mallocs[1] - mallocs[0]) / (records[1] - records[0])})
}
