package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// bytes runs W3 over an input with many keys and compares what checkpoints wrote, over deltas, their merges and bases, with
// the state that changed, each key once a checkpoint.
func (b *bench) bytes(ctx context.Context) error {
	s := spec{job: b.newJob(), in: b.keysTopic, interval: b.bytesInterval, memory: b.memory}
	s.out = s.job + "-out"
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
	if err := b.until(ctx, p, "the end of the input", 50*time.Millisecond, b.committed(ctx, s.out, total)); err != nil {
		return err
	}
	_, page := get(s.address, "/metrics")
	changed, uploaded := metric(page, "weir_checkpoint_changed_bytes_total"), metric(page, "weir_checkpoint_uploaded_bytes_total")
	disk, err := p.written()
	if err != nil {
		return err
	}
	if err := p.stop(); err != nil {
		return err
	}
	if changed == 0 {
		return errors.New("no state changed")
	}
	for _, f := range []struct {
		name, unit string
		value      float64
	}{
		{"bytes-uploaded", "x changed", uploaded / changed},
		{"bytes-disk", "x changed", disk / changed},
		{"bytes-changed", "MB", changed / 1e6},
		{"bytes-bases", "bases", metric(page, "weir_checkpoint_bases_total")},
	} {
		if err := b.record(f.name, "weir", f.unit, []float64{f.value}); err != nil {
			return err
		}
	}
	return nil
}

// binary is the size of the program for YAML jobs, as "make build" makes it.
func (b *bench) binary(context.Context) error {
	info, err := os.Stat(filepath.Join(b.bin, "processor"))
	if err != nil {
		return err
	}
	return b.record("binary", "weir-yaml", "MB", []float64{float64(info.Size()) / 1e6})
}
