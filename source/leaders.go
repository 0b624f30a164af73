package source

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weirstream/weir/checkpoint"
)

const (
	// unreachableLimit is how long a split may be without a broker that serves it before the reader gives up; whether
	// the job starts again is its restart strategy's business.
	unreachableLimit = time.Minute
	leaderPauseMin   = 20 * time.Millisecond
	leaderPauseMax   = time.Second
)

// findLeaders gives each split the broker that it is fetched from, whenever one has none, and looks for new partitions.
func (r *kafkaReader) findLeaders(ctx context.Context) {
	discover := !r.src.opts.bounded() && r.src.opts.DiscoveryInterval > 0
	var tick <-chan time.Time
	if discover {
		t := time.NewTicker(r.src.opts.DiscoveryInterval)
		defer t.Stop()
		tick = t.C
	}
	r.wakeLeaders()
	for {
		looking := false // for new partitions
		select {
		case <-r.lost:
			if d := r.pauseNeeded(); d > 0 && pause(ctx, d) != nil {
				return
			}
		case <-tick:
			looking = true
		case <-ctx.Done():
			return
		}
		if err := r.refresh(ctx, looking); err != nil {
			r.fail(err)
			return
		}
	}
}

// leaderless returns the splits that nobody fetches.
func (r *kafkaReader) leaderless() []*split {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*split
	for _, s := range r.splits {
		if s.leader == noBroker && !s.finished {
			out = append(out, s)
		}
	}
	return out
}

// pauseNeeded is how long to wait before the next look for leaders: longer the more often fetches failed.
func (r *kafkaReader) pauseNeeded() time.Duration {
	most := 0
	for _, s := range r.leaderless() {
		most = max(most, s.failures)
	}
	if most < 2 { // the first failure is most often a leader that has moved
		return 0
	}
	return min(leaderPauseMin<<min(most-2, 10), leaderPauseMax)
}

// refresh asks for metadata, once. An error ends the reader; what may pass by itself leaves splits without leader and
// wakes this goroutine again.
func (r *kafkaReader) refresh(ctx context.Context, looking bool) error {
	lost := r.leaderless()
	topics := r.topics(lost, looking)
	if len(topics) == 0 {
		return nil
	}
	l := lookup{r.client}
	meta, err := l.existing(ctx, topics)
	if err != nil {
		if _, missing := err.(*MissingTopicError); missing {
			return err
		}
		return r.retryLater(lost, err)
	}
	if err := r.sameTopics(meta); err != nil {
		return err
	}
	if looking {
		if err := r.discover(ctx, l, meta); err != nil {
			return r.retryLater(lost, err)
		}
		r.findEnds(ctx, l)
	}
	for _, s := range lost {
		if err := r.assign(ctx, l, s, meta[s.Topic].partitions); err != nil {
			return err
		}
	}
	return nil
}

// topics lists those to ask about.
func (r *kafkaReader) topics(lost []*split, looking bool) []string {
	var topics []string
	if looking {
		topics = slices.Clone(r.src.opts.Topics)
	}
	for _, s := range lost {
		if !slices.Contains(topics, s.Topic) {
			topics = append(topics, s.Topic)
		}
	}
	return topics
}

// sameTopics compares topic IDs with those that the splits were resolved with.
func (r *kafkaReader) sameTopics(meta map[string]topicMeta) error {
	r.mu.Lock()
	splits := slices.Clone(r.splits)
	r.mu.Unlock()
	none := [16]byte{}
	for name, m := range meta {
		was := r.src.topicID(name)
		for _, s := range splits {
			if s.Topic == name && s.TopicID != none {
				was = s.TopicID
			}
		}
		if was != none && m.id != none && was != m.id {
			return &TopicRecreatedError{Topic: name, Was: was, Is: m.id}
		}
	}
	return nil
}

// discover hands partitions that nobody knew to Run, if they are this subtask's, to be read from their beginning.
func (r *kafkaReader) discover(ctx context.Context, l lookup, meta map[string]topicMeta) error {
	total := 0
	fresh := map[string][]int32{}
	for topic, m := range meta {
		total += len(m.partitions)
		for _, p := range slices.Sorted(maps.Keys(m.partitions)) {
			if OwnerOf(topic, p, r.parallelism) == r.subtask && !r.isKnown(partitionKey{topic, p}) {
				fresh[topic] = append(fresh[topic], p)
			}
		}
	}
	if len(fresh) > 0 {
		starts, err := l.offsets(ctx, earliestOffset, false, fresh)
		if err != nil {
			return err
		}
		for _, topic := range slices.Sorted(maps.Keys(fresh)) {
			for _, p := range fresh[topic] {
				s := checkpoint.Split{Topic: topic, TopicID: meta[topic].id, Partition: p, Offset: starts[partitionKey{topic, p}], LeaderEpoch: -1, Stop: -1}
				select {
				case r.found <- s:
					r.offered[partitionKey{topic, p}] = true
				case <-ctx.Done():
					return nil
				}
				r.src.env.Logger.Info("new partition", "topic", topic, "partition", p, "subtask", r.subtask)
			}
		}
	}
	r.src.partitions.Store(int64(total))
	r.src.lookedAt.Store(r.src.env.Now())
	return nil
}

// findEnds notes where the splits end: a job that does not keep up fetches seldom, and its lag would not be seen to grow.
func (r *kafkaReader) findEnds(ctx context.Context, l lookup) {
	r.mu.Lock()
	splits := slices.Clone(r.splits)
	r.mu.Unlock()
	ask := map[string][]int32{}
	for _, s := range splits {
		ask[s.Topic] = append(ask[s.Topic], s.Partition)
	}
	if len(ask) == 0 {
		return
	}
	ends, err := l.offsets(ctx, latestOffset, false, ask)
	if err != nil {
		return // the fetches find out what is wrong
	}
	for _, s := range splits {
		if end, ok := ends[partitionKey{s.Topic, s.Partition}]; ok && end > s.high.Load() {
			s.high.Store(end)
		}
	}
}

// isKnown reports whether a partition is somebody's already. The splits of other subtasks are known from Resolve.
func (r *kafkaReader) isKnown(key partitionKey) bool {
	r.src.mu.RLock()
	known := r.src.known[key] || r.offered[key]
	r.src.mu.RUnlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return known || slices.ContainsFunc(r.splits, func(s *split) bool { return s.Topic == key.topic && s.Partition == key.partition })
}

// retryLater leaves the lost splits to the next round.
func (r *kafkaReader) retryLater(lost []*split, err error) error {
	if len(lost) == 0 {
		r.src.env.Logger.Warn("looking for new partitions", "err", err)
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range lost {
		outOfRange := s.outOfRange
		s.failed(err)
		s.outOfRange = outOfRange
		if time.Since(s.failedSince) > unreachableLimit {
			return fmt.Errorf("topic %s partition %d: not readable for %s: %w", s.Topic, s.Partition, unreachableLimit, err)
		}
	}
	r.wakeLeaders()
	return nil
}
