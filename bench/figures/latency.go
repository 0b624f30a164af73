package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// latencyRun is one measurement of latency.
type latencyRun struct {
	program, work string
	interval      time.Duration
}

// parseLatency reads PROGRAM-WORK@MILLISECONDS.
func parseLatency(text string) (latencyRun, error) {
	name, ms, ok1 := strings.Cut(text, "@")
	at := strings.LastIndexByte(name, '-')
	n, err := strconv.Atoi(ms)
	if !ok1 || at < 1 || err != nil || n < 1 {
		return latencyRun{}, fmt.Errorf("%q is no program-work@milliseconds", text)
	}
	return latencyRun{name[:at], name[at+1:], time.Duration(n) * time.Millisecond}, nil
}

// latency lets programs work on records that come at a steady rate.
func (b *bench) latency(ctx context.Context) error {
	var runs []latencyRun
	for _, text := range strings.Fields(b.latencies) {
		r, err := parseLatency(text)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	for _, r := range runs {
		if err := b.latencyOf(ctx, r); err != nil {
			return fmt.Errorf("%s %s at %s: %w", r.program, r.work, r.interval, err)
		}
	}
	return nil
}

// latencyOf measures one program: from a record's timestamp, which is when it was to be produced and which every result keeps,
// to when a read_committed reader has the result; and the CPU time that the program takes meanwhile.
func (b *bench) latencyOf(ctx context.Context, r latencyRun) error {
	job := b.newJob()
	in, out := job+"-in", job+"-out"
	for _, t := range []string{in, out} {
		if err := b.topic(ctx, t); err != nil {
			return err
		}
		defer b.drop(ctx, t)
	}
	p, err := b.startPeer(r, spec{job: job, in: in, out: out, work: r.work, interval: r.interval, address: "off"})
	if err != nil {
		return err
	}
	defer p.kill()
	// What lies there when the job comes up would be late by all of its start.
	up := time.Now().Add(b.latStart)
	if r.program == "flink" || r.program == "kstreams" {
		up = up.Add(b.latStartJVM)
	}
	if err := b.until(ctx, p, "the job's start", 50*time.Millisecond, func() (bool, error) { return time.Now().After(up), nil }); err != nil {
		return err
	}
	gen, err := start(filepath.Join(b.dir, job+"-gen.log"), b.peers, filepath.Join(b.bin, "gen"), "-brokers", b.brokers, "-topic", in, "-create=false",
		"-rate", strconv.Itoa(b.latRate), "-n", strconv.Itoa(1<<40))
	if err != nil {
		return err
	}
	defer gen.kill()
	samples, cpu, err := b.readLatencies(ctx, p, out)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("latency-%s-%d", r.work, r.interval.Milliseconds())
	if err := b.record(name+"-cpu", r.program, "CPU-s per M", []float64{cpu * 1e6 / float64(len(samples))}); err != nil {
		return err
	}
	return b.record(name, r.program, "ms", samples)
}

// startPeer starts a program by the name that the cells of bench/run.sh have for it.
func (b *bench) startPeer(r latencyRun, s spec) (*process, error) {
	log, dir, ms := filepath.Join(b.dir, s.job+".log"), filepath.Join(b.dir, s.job), strconv.FormatInt(r.interval.Milliseconds(), 10)
	jvm := []string{"work=" + r.work, "in=" + s.in, "out=" + s.out, "group=" + s.job, "interval=" + ms, "dir=" + dir}
	switch r.program {
	case "weir":
		s.extra = []string{"-parallelism", "2"}
		return b.run(s)
	case "weir-yaml":
		s.yaml, s.extra = true, []string{"--set", "parallelism=2"}
		return b.run(s)
	case "limit-alt":
		return start(log, b.peers, filepath.Join(b.bin, "limit"), "-nopool", "-alt", "-brokers", b.brokers, "-in", s.in, "-out", s.out, "-group", s.job,
			"-interval", s.interval.String())
	case "flink":
		return start(log, b.peers, filepath.Join(b.peers, "flink.sh"), jvm...)
	case "kstreams":
		return start(log, b.peers, filepath.Join(b.peers, "streams.sh"), jvm...)
	}
	return nil, fmt.Errorf("no program %q", r.program)
}

// readLatencies reads a topic as results are committed. Those that come within -lat-warm of the first do not count.
func (b *bench) readLatencies(ctx context.Context, p *process, topic string) (samples []float64, cpu float64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.latWarm+b.latFor+time.Minute, fmt.Errorf("too few results"))
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.brokers), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return nil, 0, err
	}
	defer cl.Close()
	var from, to time.Time
	var before float64
	for {
		fetches := cl.PollFetches(ctx)
		now := time.Now()
		if err := fetches.Err(); err != nil {
			return nil, 0, fmt.Errorf("reading the results: %w", err)
		}
		select {
		case <-p.ended:
			return nil, 0, fmt.Errorf("the job ended: %s", p.cmd.ProcessState)
		default:
		}
		switch {
		case fetches.Empty():
			continue
		case from.IsZero():
			from = now.Add(b.latWarm)
			to = from.Add(b.latFor)
		case now.After(to) && before > 0:
			after, err := p.cpu()
			return samples, after - before, err
		case now.After(from):
			if before == 0 {
				if before, err = p.cpu(); err != nil {
					return nil, 0, err
				}
				continue
			}
			fetches.EachRecord(func(r *kgo.Record) { samples = append(samples, millis(now.Sub(r.Timestamp))) })
		}
	}
}
