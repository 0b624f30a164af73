package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recovery kills W3 several times on its way through the input, restarts it at once, and waits for the first record that
// was written after the kill and committed. At the end the peers' check looks at the whole output.
func (b *bench) recovery(ctx context.Context) error {
	s := spec{job: b.newJob(), in: b.recoveryTopic, interval: b.killInterval, address: "off"}
	s.out = s.job + "-out"
	if err := b.topic(ctx, s.out); err != nil {
		return err
	}
	_, total, err := b.ends(ctx, s.in, false)
	if err != nil {
		return err
	}
	p, err := b.run(s)
	if err != nil {
		return err
	}
	defer func() { p.kill() }()
	var took []float64
	for i := range b.kills {
		// The first kill comes when a third of the input is out: by then every key has been seen.
		share := 1.0/3 + float64(i)*0.6/float64(b.kills)
		if err := b.until(ctx, p, "output", 10*time.Millisecond, b.committed(ctx, s.out, int64(share*float64(total)))); err != nil {
			return err
		}
		killed := time.Now()
		p.kill()
		ends, _, err := b.ends(ctx, s.out, false)
		if err != nil {
			return err
		}
		if p, err = b.run(s); err != nil {
			return err
		}
		first, err := b.firstRecord(ctx, s.out, ends)
		if err != nil {
			return err
		}
		took = append(took, millis(first.Sub(killed)))
	}
	if err := b.until(ctx, p, "the end of the input", 50*time.Millisecond, b.committed(ctx, s.out, total)); err != nil {
		return err
	}
	if err := b.quiet(ctx, p, s.out); err != nil {
		return err
	}
	if err := p.stop(); err != nil {
		return err
	}
	verdict, err := exec.CommandContext(ctx, b.count, "-brokers", b.brokers, "-mode", "w3", "-in", s.in, "-out", s.out).CombinedOutput()
	fmt.Printf("recovery: %s", verdict)
	if err != nil {
		return fmt.Errorf("%s: %w", b.count, err)
	}
	if !strings.HasPrefix(string(verdict), "OK") {
		return errors.New("the output is wrong")
	}
	return b.record("recovery", "weir", "ms", took)
}

// firstRecord waits for the first record at or behind the given offsets that a read_committed reader gets, and returns
// when that was. Records of aborted transactions and markers are no records to it.
func (b *bench) firstRecord(ctx context.Context, topic string, from map[int32]int64) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	offsets := map[int32]kgo.Offset{}
	for p, o := range from {
		offsets[p] = kgo.NewOffset().At(o)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.brokers), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(10*time.Millisecond))
	if err != nil {
		return time.Time{}, err
	}
	defer cl.Close()
	for {
		fetches := cl.PollFetches(ctx)
		now := time.Now()
		if err := fetches.Err(); err != nil {
			return time.Time{}, fmt.Errorf("waiting for a newly committed record: %w", err)
		}
		if !fetches.Empty() {
			return now, nil
		}
	}
}

// quiet waits until nothing was committed to the topic for two seconds.
func (b *bench) quiet(ctx context.Context, p *process, topic string) error {
	last, since := int64(-1), time.Now()
	return b.until(ctx, p, "the output to end", 50*time.Millisecond, func() (bool, error) {
		_, sum, err := b.ends(ctx, topic, true)
		if sum != last {
			last, since = sum, time.Now()
		}
		return time.Since(since) > 2*time.Second, err
	})
}
