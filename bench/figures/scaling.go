package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// scaling runs W3 without a broker and without compression (bench/weir -engine) with one subtask of each step and with two, and with one subtask on
// one core. Even with one subtask, fetching, compressing and checkpoints have goroutines of their own.
func (b *bench) scaling(ctx context.Context) error {
	runs := []struct {
		name               string
		parallelism, procs int
	}{{"engine-1-core", 1, 1}, {"engine-1", 1, 0}, {"engine-2", 2, 0}}
	rates, costs := map[string][]float64{}, map[string][]float64{}
	for range b.scalingRounds {
		for _, r := range runs {
			rate, cpu, err := b.engine(ctx, r.parallelism, r.procs)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			rates[r.name] = append(rates[r.name], rate/1000)
			costs[r.name] = append(costs[r.name], cpu)
		}
	}
	for _, r := range runs {
		if err := b.record(r.name, "weir", "k records/s", rates[r.name]); err != nil {
			return err
		}
		if err := b.record(r.name+"-cpu", "weir", "CPU-s per M", costs[r.name]); err != nil {
			return err
		}
	}
	two := quantile(rates["engine-2"], 0.5)
	if err := b.record("scaling", "weir", "x", []float64{two / quantile(rates["engine-1"], 0.5)}); err != nil {
		return err
	}
	return b.record("scaling-core", "weir", "x", []float64{two / quantile(rates["engine-1-core"], 0.5)})
}

// engine measures one run, in records/s and CPU seconds for a million records; procs 0 is all cores.
func (b *bench) engine(ctx context.Context, parallelism, procs int) (rate, cpu float64, err error) {
	dir := filepath.Join(b.dir, b.newJob())
	cmd := exec.CommandContext(ctx, filepath.Join(b.bin, "weir"), "-work", "w3", "-engine", strconv.Itoa(b.scalingRecords),
		"-parallelism", strconv.Itoa(parallelism), "-compression", "none", "-dir", dir)
	cmd.Env = os.Environ()
	if procs > 0 {
		cmd.Env = append(slices.Clone(cmd.Env), "GOMAXPROCS="+strconv.Itoa(procs))
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return 0, 0, err
	}
	_, err = fmt.Sscanf(strings.TrimSpace(string(out)), "%f,%f", &rate, &cpu)
	return rate, cpu, err
}
