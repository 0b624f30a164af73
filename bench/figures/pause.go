package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// pause runs W3 over an input with many keys and takes every snapshot from when nearly all of them are in state, or, with
// -after-first, all.
func (b *bench) pause(ctx context.Context) error {
	job := b.newJob()
	if err := b.topic(ctx, job+"-out"); err != nil {
		return err
	}
	defer b.drop(ctx, job+"-out")
	address, err := freeAddress()
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, job+".pauses")
	p, err := b.run(spec{job: job, in: b.keysTopic, out: job + "-out", interval: b.keysInterval, address: address, memory: b.memory, extra: []string{"-pauses", file}})
	if err != nil {
		return err
	}
	defer p.kill()
	_, total, err := b.ends(ctx, b.keysTopic, false)
	if err != nil {
		return err
	}
	inState := func() (bool, error) {
		_, page := get(address, "/metrics")
		return metric(page, "weir_state_entries") >= b.pauseKeysShare*float64(b.keys), nil
	}
	if b.afterFirst { // the entries in memory may never be so many
		inState = b.committed(ctx, job+"-out", int64(b.keys))
	}
	if err = b.until(ctx, p, "the keys in state", 50*time.Millisecond, inState); err != nil {
		return err
	}
	full := time.Now()
	if err := b.until(ctx, p, "the end of the input", 50*time.Millisecond, b.committed(ctx, job+"-out", total)); err != nil {
		return err
	}
	if err := p.stop(); err != nil {
		return err
	}
	pauses, changes, err := readPauses(file, full)
	if err != nil {
		return err
	}
	if err := b.record("pause", "weir", "ms", pauses); err != nil {
		return err
	}
	return b.record("pause-changes", "weir", "entries", changes)
}

// committed asks whether so many records of a topic can be read by a read_committed reader. Markers count too, so it may
// be early by a few records: good for waiting, not for checking.
func (b *bench) committed(ctx context.Context, topic string, records int64) func() (bool, error) {
	return func() (bool, error) {
		_, sum, err := b.ends(ctx, topic, true)
		return sum >= records, err
	}
}

// readPauses reads what bench/weir -pauses wrote: pauses in milliseconds and the changes frozen, since a point in time.
// Snapshots of subtasks without state, which freeze nothing, do not count.
func readPauses(file string, since time.Time) (pauses, changes []float64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	for _, row := range rows {
		if len(row) != 5 {
			return nil, nil, fmt.Errorf("%s: %d columns: want 5", file, len(row))
		}
		at, err1 := strconv.ParseInt(row[0], 10, 64)
		nanos, err2 := strconv.ParseFloat(row[3], 64)
		entries, err3 := strconv.ParseFloat(row[4], 64)
		if err1 != nil || err2 != nil || err3 != nil {
			return nil, nil, fmt.Errorf("%s: not a pause: %v", file, row)
		}
		if at < since.UnixMilli() || entries == 0 {
			continue
		}
		pauses = append(pauses, nanos/1e6)
		changes = append(changes, entries)
	}
	return pauses, changes, nil
}
