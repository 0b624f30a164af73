package source

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchGrace is how long a broker may take to answer a fetch beyond what it was allowed to wait.
const fetchGrace = 15 * time.Second

// aheadWait is how long a broker may hold a fetch back that leaves out splits which are ahead.
const aheadWait = 20 * time.Millisecond

// fetchLoop fetches what broker b leads until the context ends. One request is in flight, or one response waits to be
// taken by Run.
func (r *kafkaReader) fetchLoop(ctx context.Context, b *broker) {
	for {
		moved := r.src.env.TimeAlignment.movedOn() // before the splits are looked at
		req, asked := r.request(b)
		if req == nil {
			select {
			case <-b.wake:
				continue
			case <-moved:
				continue
			case <-ctx.Done():
				return
			}
		}
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, r.src.opts.FetchMaxWait+fetchGrace)
		resp, err := r.client.Broker(int(b.id)).Request(limited, req)
		took := time.Since(began)
		cancel()
		if ctx.Err() != nil {
			return
		}
		var parts []part
		var atEnd bool
		if err == nil {
			parts, atEnd, err = r.response(resp.(*kmsg.FetchResponse), asked)
			if err != nil {
				r.fail(err)
				return
			}
		} else {
			r.lose(asked, fmt.Errorf("broker %d: %w", b.id, err))
		}
		if len(parts) == 0 {
			continue
		}
		little := atEnd && trickles(parts) // the parts are not this goroutine's afterwards
		select {
		case r.parts <- parts:
		case <-ctx.Done():
			return
		}
		if little {
			r.rest(ctx, took)
		}
	}
}

// rest waits as long as the job lets it, mostRest at most. Without that a fetch would answer each few records, at the price of a
// large one: most of the CPU time of a job that has little to do.
func (r *kafkaReader) rest(ctx context.Context, took time.Duration) {
	if rest := min(r.src.env.Rest(took), mostRest); rest > 0 {
		select {
		case <-time.After(rest):
		case <-ctx.Done():
		}
	}
}

const (
	// mostRest is how long a source rests before it looks again: so what gathers is not much.
	mostRest = 20 * time.Millisecond
	// trickle is how much has come at most, compressed, from a broker that has hardly anything to give.
	trickle = 64 << 10
)

// trickles reports that a fetch has brought little.
func trickles(parts []part) bool {
	bytes := 0
	for i := range parts {
		bytes += len(parts[i].raw)
	}
	return bytes <= trickle
}

// request makes the next fetch request to a broker; nil if there is nothing to fetch from it. The split that comes first gets its data
// even if the others fill the response, so each comes first in turn.
func (r *kafkaReader) request(b *broker) (*kmsg.FetchRequest, []*split) {
	o := &r.src.opts
	r.mu.Lock()
	defer r.mu.Unlock()
	var asked []*split
	wait := o.FetchMaxWait
	for i := range r.splits {
		s := r.splits[(i+b.turn)%len(r.splits)]
		switch {
		case s.leader != b.id || s.finished:
		case s.unread >= mostUnread || s.place.Waits():
			wait = min(wait, aheadWait) // it may have to be asked for while the others have nothing
		default:
			asked = append(asked, s)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	b.turn++
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(wait.Milliseconds())
	req.MinBytes = 1
	req.MaxBytes = o.FetchMaxBytes
	req.SessionEpoch = -1 // no fetch session: each request and response lists every split
	if o.committedOnly() {
		req.IsolationLevel = 1
	}
	topicAt := map[string]int{}
	for _, s := range asked {
		i, ok := topicAt[s.Topic]
		if !ok {
			i = len(req.Topics)
			topicAt[s.Topic] = i
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = s.Topic, s.TopicID
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.CurrentLeaderEpoch, p.PartitionMaxBytes = s.Partition, s.position, s.leaderEpoch, o.PartitionMaxBytes
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req, asked
}

// response applies a fetch response, and reports whether it brought all that there was. An error ends the reader.
func (r *kafkaReader) response(resp *kmsg.FetchResponse, asked []*split) (parts []part, atEnd bool, err error) {
	now := r.src.env.Steady()
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		if !mends(err) {
			return nil, false, fmt.Errorf("fetch: %w", err)
		}
		r.lose(asked, err)
		return nil, false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	behind := len(asked)
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			s := pick(asked, t, p.Partition)
			if s == nil {
				continue
			}
			out, something, err := s.fetched(p, &r.src.opts, now)
			switch _, corrupt := err.(*CorruptError); {
			case corrupt:
				return nil, false, err
			case err != nil && !mends(err):
				return nil, false, fmt.Errorf("topic %s partition %d: fetch: %w", s.Topic, s.Partition, err)
			case err != nil:
				s.failed(err)
				r.wakeLeaders()
			case something:
				parts = append(parts, out)
				s.unread++
			}
			if err == nil {
				s.place.setBehind(!out.atEnd && !out.done)
				r.tellHeld(s, now)
			}
			if out.atEnd {
				behind--
			}
		}
	}
	return parts, behind == 0, nil
}

// heldPatience is how long a split may wait for an open transaction before that is logged.
const heldPatience = 10 * time.Second

// tellHeld logs, once, that a split has been waiting for somebody's transaction, and that it has ended. The lock is held.
func (r *kafkaReader) tellHeld(s *split, now int64) {
	switch {
	case s.heldSince >= 0 && !s.heldTold && now-s.heldSince >= heldPatience.Milliseconds():
		s.heldTold = true
		r.src.env.Logger.Warn("waiting for an open transaction in the input: nothing behind it can be read before it ends",
			"topic", s.Topic, "partition", s.Partition, "offset", s.position)
	case s.heldSince < 0 && s.heldTold:
		s.heldTold = false
		r.src.env.Logger.Info("the transaction in the input has ended", "topic", s.Topic, "partition", s.Partition, "offset", s.position)
	}
}

// pick finds the split that a partition of a response is about. From version 13 on a response names topics by ID only.
func pick(asked []*split, t *kmsg.FetchResponseTopic, partition int32) *split {
	for _, s := range asked {
		if s.Partition == partition && (s.TopicID == t.TopicID && s.TopicID != [16]byte{} || t.Topic != "" && s.Topic == t.Topic) {
			return s
		}
	}
	return nil
}

// lose takes splits from their broker: where to fetch them is to be found out again.
func (r *kafkaReader) lose(splits []*split, err error) {
	r.mu.Lock()
	for _, s := range splits {
		s.failed(err)
	}
	r.mu.Unlock()
	r.wakeLeaders()
}
