package main

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/harness"
)

// reader reads an output topic as any read_committed consumer does, and keeps what it sees.
type reader struct {
	mu      sync.Mutex
	records []*kgo.Record
	err     error
	done    chan struct{}
}

// startReader reads until the context ends.
func startReader(ctx context.Context, brokers []string, topic string) (*reader, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	r := &reader{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer cl.Close()
		for {
			fetches := cl.PollFetches(ctx)
			if ctx.Err() != nil {
				return
			}
			r.mu.Lock()
			fetches.EachError(func(_ string, _ int32, err error) {
				// A topic that is new may not be known yet.
				if !kerr.IsRetriable(err) {
					r.err = err
				}
			})
			r.records = append(r.records, fetches.Records()...)
			r.mu.Unlock()
		}
	}()
	return r, nil
}

// seen is how many records there are so far.
func (r *reader) seen() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.records)
}

// sums are the values of each key so far, in order.
func (r *reader) sums() (harness.Sums, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	return harness.ReadSums(byPartition(r.records))
}

// tally is how an output differs from the plain loop's.
type tally struct {
	records                       int // of the input
	lost, doubled, other, shuffle int
}

// compare counts. The sums of a key grow, so each value stands for one record.
func compare(want, got harness.Sums) tally {
	t := tally{records: want.Len()}
	for key, values := range got {
		if _, known := want[key]; !known {
			t.other += len(values)
		}
	}
	for key, values := range want {
		times := map[int64]int{}
		for _, v := range values {
			times[v] = 0
		}
		var before int64
		for _, v := range got[key] {
			n, known := times[v]
			switch {
			case !known:
				t.other++
				continue
			case n > 0:
				t.doubled++
			}
			times[v]++
			if v < before {
				t.shuffle++
			}
			before = v
		}
		for _, n := range times {
			if n == 0 {
				t.lost++
			}
		}
	}
	return t
}

// through reports whether the last value of each key is there: the job has read all of the input.
func through(want, got harness.Sums) bool {
	for key, values := range want {
		last, there := values[len(values)-1], false
		for _, v := range got[key] {
			there = there || v == last
		}
		if !there {
			return false
		}
	}
	return true
}
