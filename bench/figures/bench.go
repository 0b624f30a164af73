package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// bench is what the figures share.
type bench struct {
	settings
	client *kgo.Client
	admin  *kadm.Client
	jobs   int // how many jobs have had a name
}

func newBench(s settings) (*bench, error) {
	// Job and folder names need to be new each time: the broker may outlive this program.
	s.dir = filepath.Join(s.dir, fmt.Sprintf("%d", time.Now().UnixMilli()))
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return nil, err
	}
	s.dir = dir
	// The peers' scripts run in a folder of their own.
	for _, folder := range []*string{&s.bin, &s.peers} {
		if *folder, err = filepath.Abs(*folder); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.brokers))
	if err != nil {
		return nil, err
	}
	return &bench{settings: s, client: cl, admin: kadm.NewClient(cl)}, nil
}

func (b *bench) close() { b.client.Close() }

// newJob is a name that no job had before.
func (b *bench) newJob() string {
	b.jobs++
	return fmt.Sprintf("fig-%s-%d", filepath.Base(b.dir), b.jobs)
}

// topic creates a topic of four partitions.
func (b *bench) topic(ctx context.Context, name string) error {
	_, err := b.admin.CreateTopic(ctx, 4, 1, nil, name)
	return err
}

// drop deletes a topic: what a figure wrote may be large.
func (b *bench) drop(ctx context.Context, name string) error {
	_, err := b.admin.DeleteTopic(ctx, name)
	return err
}

// ends are the offsets behind the last record of each partition: those that a read_committed reader gets, or all.
func (b *bench) ends(ctx context.Context, topic string, committed bool) (byPartition map[int32]int64, sum int64, err error) {
	list := b.admin.ListEndOffsets
	if committed {
		list = b.admin.ListCommittedOffsets
	}
	listed, err := list(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, 0, err
	}
	byPartition = map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) {
		byPartition[o.Partition] = o.Offset
		sum += o.Offset
	})
	return byPartition, sum, nil
}

// until asks done again and again, every so often; what says what is waited for.
func (b *bench) until(ctx context.Context, p *process, what string, every time.Duration, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-p.ended:
			return fmt.Errorf("the job ended while waiting for %s: %s", what, p.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}

// record appends a figure to the CSV file and prints it. It sorts the samples.
func (b *bench) record(name, program, unit string, samples []float64) error {
	if len(samples) == 0 {
		return fmt.Errorf("%s of %s: no samples", name, program)
	}
	slices.Sort(samples)
	line := fmt.Sprintf("%s,%s,%s,%d,%.3f,%.3f,%.3f", name+b.suffix, program, unit, len(samples),
		quantile(samples, 0.5), quantile(samples, 0.99), samples[len(samples)-1])
	fmt.Println(line)
	f, err := os.OpenFile(b.csv, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintln(f, line); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// quantile is the least sample that is not below the share q of all (nearest rank). They are sorted and not empty.
func quantile(sorted []float64, q float64) float64 {
	rank := int(q * float64(len(sorted)))
	if float64(rank) < q*float64(len(sorted)) {
		rank++
	}
	return sorted[min(max(rank, 1), len(sorted))-1]
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
