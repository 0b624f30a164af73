package source

import (
	"context"
	"errors"
	"iter"
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
// events stops the fetching, with one response per broker and what Run is unpacking in memory. Of splits that are aligned with
// others two parts each may lie there instead (later.go), each a coroutine of Run's, which stops it at its end.
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

	// unpack takes apart the parts of splits that are not aligned; codecs is of all. Both are Run's.
	unpack unpacker
	codecs *decompressor
	wg     sync.WaitGroup
	fail   context.CancelCauseFunc
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
	r.codecs = newDecompressor()
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
	open := 0
	send := func(e Event) error {
		if e.Kind == EventSplitEnd {
			open--
		}
		select {
		case events <- e:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	announce := func(s checkpoint.Split) error {
		added := r.add(s)
		if err := send(Event{Kind: EventSplit, Split: added.Split, Index: added.index}); err != nil {
			return err
		}
		open++
		if added.ended {
			return send(Event{Kind: EventSplitEnd, Index: added.index})
		}
		return nil
	}
	for _, s := range r.initial {
		if err := announce(s); err != nil {
			return err
		}
	}
	r.wg.Go(func() { r.findLeaders(ctx) })
	var later laterParts
	defer later.stop()
	for {
		moved := r.src.env.TimeAlignment.movedOn() // before anything is looked at
		if err := later.hand(r, send); err != nil {
			return err
		}
		if open == 0 && r.src.opts.bounded() {
			return send(Event{Kind: EventEnd})
		}
		select {
		case parts := <-r.parts:
			for i := range parts {
				p := &parts[i]
				if p.split.place.aligned() {
					later.add(r, p)
					continue
				}
				for e, err := range r.events(p, &r.unpack) {
					if err == nil {
						err = send(e)
					}
					if err != nil {
						return err
					}
				}
				r.handedOn(p.split)
			}
		case s := <-r.found:
			if err := announce(s); err != nil {
				return err
			}
			r.wakeLeaders()
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// events are those of a part, in their order. u is used until they end.
func (r *kafkaReader) events(p *part, u *unpacker) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := p.split
		emit := func(e Event) error {
			if !yield(e, nil) {
				return errEnough
			}
			return nil
		}
		active := func() error {
			s.idle = false
			return emit(Event{Kind: EventActive, Index: s.index})
		}
		u.max, u.committed, u.codecs = r.src.opts.MaxBatchRecords, r.src.opts.committedOnly(), r.codecs
		u.emit = func(b Batch) error {
			if s.idle && len(b.Records) > 0 {
				if err := active(); err != nil {
					return err
				}
			}
			return emit(Event{Kind: EventBatch, Index: b.Split, Batch: b})
		}
		err := u.unpack(p)
		if err == nil && p.woken && s.idle {
			err = active()
		}
		if err == nil && p.quiet && !s.idle && !p.done {
			s.idle = true
			err = emit(Event{Kind: EventIdle, Index: s.index})
		}
		if err == nil && p.done && !s.ended {
			s.ended = true
			err = emit(Event{Kind: EventSplitEnd, Index: s.index})
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(Event{}, err)
		}
	}
}

// errEnough: whoever takes the events of a part wants no more of them.
var errEnough = errors.New("no more events are wanted")

// add takes a split in. It is fetched once a leader is found.
func (r *kafkaReader) add(s checkpoint.Split) *split {
	if s.TopicID == [16]byte{} {
		s.TopicID = r.src.topicID(s.Topic)
	}
	done := s.Done || s.Stop >= 0 && s.Offset >= s.Stop
	added := &split{
		Split: s, high: r.src.end(partitionKey{s.Topic, s.Partition}), place: r.src.env.TimeAlignment.Split(r.src.env.Name, s.Topic, s.Partition),
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
