package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func (b *bench) recovery(ctx context.Context) error { return b.recover(ctx, "recovery", false) }

func (b *bench) recoveryFetch(ctx context.Context) error {
	return b.recover(ctx, "recovery-fetch", true)
}

// recover kills W3 several times on its way through the input, restarts it at once, without its local state if fetch says
// so, and waits for the first record that was written after the kill and committed. At the end the peers' check looks at the
// whole output.
func (b *bench) recover(ctx context.Context, name string, fetch bool) error {
	s := spec{job: b.newJob(), in: b.recoveryTopic, interval: b.killInterval, address: "off", memory: b.memory}
	s.out = s.job + "-out"
	if err := b.topic(ctx, s.out); err != nil {
		return err
	}
	_, total, err := b.ends(ctx, s.in, false)
	if err != nil {
		return err
	}
	// The first kill comes when every key has been seen: a third of the input is out, or all that names new ones.
	begin := 1.0 / 3
	if b.afterFirst {
		begin = float64(b.keys) / float64(total)
	}
	p, err := b.run(s)
	if err != nil {
		return err
	}
	defer func() { p.kill() }()
	var took []float64
	for i := range b.kills {
		share := begin + float64(i)*(0.93-begin)/float64(b.kills)
		if err := b.until(ctx, p, "output", 10*time.Millisecond, b.committed(ctx, s.out, int64(share*float64(total)))); err != nil {
			return err
		}
		killed := time.Now()
		p.kill()
		if fetch {
			removing := time.Now()
			if err := os.RemoveAll(filepath.Join(b.dir, s.job, "local")); err != nil {
				return err
			}
			killed = killed.Add(time.Since(removing)) // another machine would not have it
		}
		ends, _, err := b.ends(ctx, s.out, false)
		if err != nil {
			return err
		}
		if done, err := b.committed(ctx, s.out, total)(); err != nil || done {
			return errors.Join(err, errors.New("the input is too small: all of it may be out at the last kill"))
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
	check := exec.CommandContext(ctx, filepath.Join(b.bin, "count"), "-brokers", b.brokers, "-mode", "w3", "-in", s.in, "-out", s.out)
	check.Dir = b.peers // it keeps what it finds out about inputs there
	verdict, err := check.CombinedOutput()
	fmt.Printf("%s: %s", name, verdict)
	if err != nil {
		return fmt.Errorf("%s: %w", check.Path, err)
	}
	if !strings.HasPrefix(string(verdict), "OK") {
		return fmt.Errorf("the output is wrong, it is in topic %s", s.out)
	}
	if err := b.drop(ctx, s.out); err != nil {
		return err
	}
	return b.record(name, "weir", "ms", took)
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
