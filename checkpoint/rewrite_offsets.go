package checkpoint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weirstream/weir/stream"
)

// moveSplits sets offsets. What a split knew of the record before its offset, and whether it was at its end, is not known of
// the new one.
func (r *rewriting) moveSplits() {
	used := map[SplitKey]bool{}
	var have []string
	for i := range r.p.Sources {
		src := &r.p.Sources[i]
		for j := range src.Splits {
			s := &src.Splits[j]
			key := SplitKey{src.Name, s.Topic, s.Partition}
			have = append(have, key.String())
			every := SplitKey{"", s.Topic, s.Partition} // source that reads it
			at, ok := r.e.SetOffset[key]
			if !ok {
				at, ok = r.e.SetOffset[every]
			}
			used[key], used[every] = true, true
			if ok {
				r.move(key, s, at)
			}
		}
	}
	slices.Sort(have)
	keys := slices.SortedFunc(maps.Keys(r.e.SetOffset), func(a, b SplitKey) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Source, b.Source))
	})
	for _, k := range keys {
		switch {
		case used[k]:
		case len(have) == 0:
			r.wrong("set-offset %s: the savepoint has no offsets", k)
		default:
			r.wrong("set-offset %s: there is no such split: it has %s", k, some(have))
		}
	}
}

// move sets the offset of one split.
func (r *rewriting) move(key SplitKey, s *Split, to int64) {
	from := s.Offset
	m := &MovedSplit{Source: key.Source, Topic: s.Topic, Partition: s.Partition, From: from, To: to}
	low, high := min(from, to), max(from, to)
	log, known := r.e.Log[key]
	if !known {
		log, known = r.e.Log[SplitKey{"", s.Topic, s.Partition}]
	}
	if known {
		m.Log = &log
		low, high = max(low, log.Start), min(high, log.End)
	}
	m.Records = max(high-low, 0)
	_, anew := r.e.TopicIDs[s.Topic]
	switch {
	case to < 0:
		r.wrong("set-offset %s=%d: an offset is not negative", key, to)
		return
	case known && !r.e.Force && to < log.Start:
		r.wrong("set-offset %s=%d: the log begins at %d: records before it are gone (--force sets it even so)", key, to, log.Start)
		return
	case known && !r.e.Force && to > log.End:
		r.wrong("set-offset %s=%d: the log ends at %d (--force sets it even so)", key, to, log.End)
		return
	}
	split := fmt.Sprintf("source %q: %s/%d", key.Source, s.Topic, s.Partition)
	switch {
	case anew:
		// The old offset meant other records: everything from the new one on is new.
		m.Records = 0
		if known {
			m.Records = max(log.End-to, 0)
		}
		r.tell(Effect{Kind: EffectReadAgain, Split: m}, "%s: the topic was made again: it is read from offset %d on", split, to)
		r.back = append(r.back, s)
	case to < from:
		r.tell(Effect{Kind: EffectReadAgain, Split: m}, "%s: offset %d -> %d: up to %s read again", split, from, to, are(m.Records))
		r.back = append(r.back, s)
	case to > from:
		r.tell(Effect{Kind: EffectSkip, Split: m}, "%s: offset %d -> %d: up to %s never read", split, from, to, are(m.Records))
	default:
		r.tell(Effect{Kind: EffectStay, Split: m}, "%s: offset %d as it was", split, to)
		return
	}
	s.Offset, s.LeaderEpoch = to, -1
	s.Done = s.Stop >= 0 && to >= s.Stop
	if r.p.Final && !r.p.Drained && !s.Done {
		r.p.Final = false
		r.tell(Effect{Kind: EffectGoesOn}, "the savepoint is not at the end of the input any more")
	}
}

// newTopics takes over the IDs of topics that were made again.
func (r *rewriting) newTopics() {
	for _, topic := range slices.Sorted(maps.Keys(r.e.TopicIDs)) {
		id := r.e.TopicIDs[topic]
		var left []string
		found := false
		for i := range r.p.Sources {
			src := &r.p.Sources[i]
			for j := range src.Splits {
				s := &src.Splits[j]
				if s.Topic != topic {
					continue
				}
				found = true
				s.TopicID = id
				_, one := r.e.SetOffset[SplitKey{src.Name, topic, s.Partition}]
				_, all := r.e.SetOffset[SplitKey{"", topic, s.Partition}]
				if !one && !all {
					left = append(left, SplitKey{src.Name, topic, s.Partition}.String())
				}
			}
		}
		for i := range r.p.Topics {
			if t := &r.p.Topics[i]; t.Role == "source" && t.Name == topic {
				t.ID = id
			}
		}
		switch {
		case !found:
			r.wrong("topic %s: the savepoint does not read it", topic)
		case len(left) > 0:
			r.wrong("topic %s was deleted and made again, so its offsets mean other records: set those of %s too", topic, some(left))
		default:
			r.tell(Effect{Kind: EffectTopic}, "topic %s was deleted and made again: the offsets are those of the new one", topic)
		}
	}
}

func are(records int64) string {
	if records == 1 {
		return "1 record is"
	}
	return fmt.Sprintf("%d records are", records)
}

func timeOf(ms int64) string {
	if ms == stream.MaxTime {
		return "the end of the input"
	}
	return TimeText(ms)
}
