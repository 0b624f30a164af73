package source

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
)

// kafkaReader reads the splits of one subtask. Its goroutines, all ended when Run returns:
//
//	run      1              unpacks what was fetched and sends events          Run itself
//	fetch    1 per broker   one fetch in flight for the splits it leads       fetch.go
//	leaders  1              finds leaders and new partitions, looks into lost offsets   leaders.go
//
// A fetch goroutine holds one response back while the one before it is handed on, so a job that does not take its
// events stops the fetching, with one response per broker and what Run is unpacking in memory.
type kafkaReader struct {
	src                  *kafkaSource
	subtask, parallelism int
	initial              []checkpoint.Split

	// ahead is the client that is being connected since the reader was made; nil once it is taken.
	ahead  *dialed
	client *kgo.Client
	// parts carries what was fetched to Run; found brings partitions that were discovered.
	parts chan []part
	found chan checkpoint.Split
	// lost wakes the leaders goroutine: a split has no leader.
	lost chan struct{}

	mu sync.Mutex // guards what follows and the fetch fields of splits
	// splits is appended to by Run's goroutine alone, which therefore reads it without the mutex.
	splits  []*split
	brokers map[int32]*broker

	// offered are the partitions that were handed to found; only the leaders goroutine uses it.
	offered map[partitionKey]bool

	wg   sync.WaitGroup
	fail context.CancelCauseFunc
}

// broker is a fetch goroutine's handle; wake tells it that it may have something to fetch.
type broker struct {
	id   int32
	wake chan struct{}
	turn int // which split comes first in the next request
}

func (r *kafkaReader) Run(ctx context.Context, events chan<- Event) error {
	client, err := r.connect(ctx)
	if err != nil {
		return r.src.located(err)
	}
	defer client.Close()
	ctx, fail := context.WithCancelCause(ctx)
	r.client, r.fail = client, fail
	r.parts, r.found, r.lost = make(chan []part), make(chan checkpoint.Split), make(chan struct{}, 1)
	r.brokers, r.offered, r.splits = map[int32]*broker{}, map[partitionKey]bool{}, nil
	defer r.wg.Wait()
	defer fail(nil)

	err = r.run(ctx, events)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // what ended the context comes first
	}
	return r.src.located(err)
}

func (r *kafkaReader) run(ctx context.Context, events chan<- Event) error {
	send := func(e Event) error {
		select {
		case events <- e:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	u := &unpacker{
		max: r.src.opts.MaxBatchRecords, committed: r.src.opts.committedOnly(), codecs: newDecompressor(),
		emit: func(b Batch) error {
			if s := r.splits[b.Split]; s.idle && len(b.Records) > 0 {
				s.idle = false
				if err := send(Event{Kind: EventActive, Index: b.Split}); err != nil {
					return err
				}
			}
			return send(Event{Kind: EventBatch, Index: b.Split, Batch: b})
		},
	}
	open := 0
	announce := func(s checkpoint.Split) error {
		added := r.add(s)
		if err := send(Event{Kind: EventSplit, Split: added.Split, Index: added.index}); err != nil {
			return err
		}
		if added.ended {
			return send(Event{Kind: EventSplitEnd, Index: added.index})
		}
		open++
		return nil
	}
	for _, s := range r.initial {
		if err := announce(s); err != nil {
			return err
		}
	}
	r.wg.Go(func() { r.findLeaders(ctx) })
	for {
		if open == 0 && r.src.opts.bounded() {
			return send(Event{Kind: EventEnd})
		}
		select {
		case parts := <-r.parts:
			for i := range parts {
				ended, err := r.hand(&parts[i], u, send)
				if err != nil {
					return err
				}
				if ended {
					open--
				}
			}
		case s := <-r.found:
			if err := announce(s); err != nil {
				return err
			}
			r.wakeLeaders()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hand sends the events of a part and reports whether its split has ended.
func (r *kafkaReader) hand(p *part, u *unpacker, send func(Event) error) (ended bool, err error) {
	s := p.split
	if err := u.unpack(p); err != nil {
		return false, err
	}
	if p.woken && s.idle {
		s.idle = false
		if err := send(Event{Kind: EventActive, Index: s.index}); err != nil {
			return false, err
		}
	}
	if p.quiet && !s.idle && !p.done {
		s.idle = true
		if err := send(Event{Kind: EventIdle, Index: s.index}); err != nil {
			return false, err
		}
	}
	if p.done && !s.ended {
		s.ended = true
		return true, send(Event{Kind: EventSplitEnd, Index: s.index})
	}
	return false, nil
}

// add takes a split in. It is fetched once a leader is found.
func (r *kafkaReader) add(s checkpoint.Split) *split {
	if s.TopicID == [16]byte{} {
		s.TopicID = r.src.topicID(s.Topic)
	}
	done := s.Done || s.Stop >= 0 && s.Offset >= s.Stop
	added := &split{
		Split: s, high: r.src.end(partitionKey{s.Topic, s.Partition}),
		position: s.Offset, epoch: s.LeaderEpoch, leader: noBroker, leaderEpoch: -1,
		lastData: r.src.env.Steady(), heldSince: -1, finished: done, ended: done,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	added.index = int32(len(r.splits))
	r.splits = append(r.splits, added)
	return added
}

func (r *kafkaReader) wakeLeaders() { wake(r.lost) }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
