package source

import (
	"context"
	"maps"
	"slices"

	"github.com/weirstream/weir/checkpoint"
)

// Resolve asks the brokers and lets resolve decide.
func (s *kafkaSource) Resolve(ctx context.Context, restored []checkpoint.Split) ([]checkpoint.Split, error) {
	v, err := patiently(ctx, func(ctx context.Context) (view, error) { return s.look(ctx, restored) })
	if err != nil {
		return nil, s.located(err)
	}
	r, err := resolve(&s.opts, v, restored)
	if err != nil {
		return nil, s.located(err)
	}
	for _, loss := range r.passed {
		s.env.Logger.Warn("records expired before they were read", "topic", loss.Topic, "partition", loss.Partition,
			"offset", loss.Offset, "log_start", loss.LogStart)
	}
	partitions := 0
	for _, t := range v {
		partitions += len(t.partitions)
	}
	s.partitions.Store(int64(partitions))
	s.lookedAt.Store(s.env.Now())

	s.mu.Lock()
	clear(s.ids)
	clear(s.known)
	for name, t := range v {
		s.ids[name] = t.id
	}
	for _, split := range r.splits {
		s.known[partitionKey{split.Topic, split.Partition}] = true
	}
	s.mu.Unlock()
	for _, split := range r.splits {
		s.end(partitionKey{split.Topic, split.Partition}).Store(v[split.Topic].partitions[split.Partition].high)
	}
	return r.splits, nil
}

// look collects what resolve needs: what the options do not ask for is not looked up.
func (s *kafkaSource) look(ctx context.Context, restored []checkpoint.Split) (view, error) {
	l := lookup{s.client}
	meta, err := l.existing(ctx, s.opts.Topics)
	if err != nil {
		return nil, err
	}
	v := view{}
	partitions := map[string][]int32{}
	for topic, m := range meta {
		v[topic] = &topicView{id: m.id, partitions: map[int32]*partitionView{}}
		for p := range m.partitions {
			v[topic].partitions[p] = &partitionView{startAt: -1, stopAt: -1, epochEnd: -1}
		}
		partitions[topic] = slices.Collect(maps.Keys(m.partitions))
	}
	// In this order: a timestamp that is not found stands for the end, and a record that comes meanwhile must not be
	// skipped; the high watermark comes last, so that no offset found here lies beyond it.
	asks := []struct {
		wanted    bool
		at        int64
		committed bool
		set       func(*partitionView, int64)
	}{
		{true, earliestOffset, false, func(p *partitionView, o int64) { p.start = o }},
		{true, latestOffset, s.opts.committedOnly(), func(p *partitionView, o int64) { p.readable = o }},
		{s.opts.Start == "timestamp", s.opts.StartTimestamp.UnixMilli(), false, func(p *partitionView, o int64) { p.startAt = o }},
		{s.opts.StopAt == "timestamp", s.opts.StopTimestamp.UnixMilli(), false, func(p *partitionView, o int64) { p.stopAt = o }},
		{true, latestOffset, false, func(p *partitionView, o int64) { p.high = o }},
	}
	for _, ask := range asks {
		if !ask.wanted {
			continue
		}
		found, err := l.offsets(ctx, ask.at, ask.committed, partitions)
		if err != nil {
			return nil, err
		}
		for key, offset := range found {
			if t := v[key.topic]; t != nil && t.partitions[key.partition] != nil {
				ask.set(t.partitions[key.partition], offset)
			}
		}
	}
	if restored == nil && s.opts.Start == "group" {
		if err := s.lookGroup(ctx, l, v); err != nil {
			return nil, err
		}
	}
	return v, s.lookEpochs(ctx, l, v, restored)
}

func (s *kafkaSource) lookGroup(ctx context.Context, l lookup, v view) error {
	group := s.opts.StartGroup
	if group == "" {
		group = s.env.Group
	}
	offsets, err := l.committed(ctx, group)
	if err != nil {
		return err
	}
	for key, at := range offsets {
		if t := v[key.topic]; t != nil && t.partitions[key.partition] != nil {
			t.partitions[key.partition].committed = &at
		}
	}
	return nil
}

// lookEpochs finds the ends of the leader epochs that restored offsets belong to.
func (s *kafkaSource) lookEpochs(ctx context.Context, l lookup, v view, restored []checkpoint.Split) error {
	epochs := map[string]map[int32]int32{}
	for _, split := range restored {
		t := v[split.Topic]
		if split.Done || split.LeaderEpoch < 0 || t == nil || t.partitions[split.Partition] == nil {
			continue
		}
		if split.TopicID != t.id {
			continue // another topic's epochs: resolve refuses it
		}
		if epochs[split.Topic] == nil {
			epochs[split.Topic] = map[int32]int32{}
		}
		epochs[split.Topic][split.Partition] = split.LeaderEpoch
	}
	ends, err := l.epochEnds(ctx, epochs)
	for key, end := range ends {
		v[key.topic].partitions[key.partition].epochEnd = end
	}
	return err
}
