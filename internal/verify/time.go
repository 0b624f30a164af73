package verify

import (
	"fmt"
	"slices"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/stream"
)

// watermarkOf is how far event time has come at an event_time step: where the slowest of the splits stands of which there is
// more to read, before p0 or after.
func (l *loop) watermarkOf(s *step) int64 {
	least := stream.MaxTime
	for _, in := range l.sources {
		if !slices.Contains(in.timed, s) {
			continue
		}
		for _, sp := range in.splits {
			if sp.reader.left() > 0 || sp.reader.to < sp.until {
				least = min(least, s.back(s.stage.Generator.MaxTimestamp(sp.index)))
			}
		}
	}
	return least
}

// time hands watermarks on. None goes beyond what the checkpoint says: the input that follows is still to come.
func (l *loop) time() error {
	for _, s := range l.steps {
		wm := stream.MaxTime
		switch {
		case s.stage.Generator != nil:
			wm = l.watermarkOf(s)
		case len(s.node.Inputs) == 0:
			wm = stream.MinTime
		default:
			for _, in := range s.node.Inputs {
				wm = min(wm, l.byNode[in.From].watermark)
			}
		}
		if err := l.advance(s, min(wm, s.limit[l.phase])); err != nil {
			return err
		}
	}
	return nil
}

// advance tells a step of a watermark, unless it was told of a later one.
func (l *loop) advance(s *step, wm int64) error {
	if wm <= s.watermark {
		return nil
	}
	s.watermark = wm
	if s.stage.OnWatermark == nil {
		return nil
	}
	if s.timers != nil && s.timers.Entries() > 0 && !s.trusted && !l.opts.Last && s.doubtful == "" {
		s.doubtful = "it sets event-time timers: what it knows when one fires depends on how far the input had been read"
	}
	s.firing = true
	err := s.stage.OnWatermark(wm)
	s.firing = false
	if l.refusal != nil {
		return l.refusal
	}
	if err != nil {
		return fmt.Errorf("operator %s: %w", s.node.Name, err)
	}
	return nil
}

// resume tells the steps how far event time had come at the savepoint.
func (l *loop) resume(from *checkpoint.Pointer) error {
	for _, o := range from.Operators {
		for _, s := range l.steps {
			if s.node.Name == o.Name && o.Watermark != stream.MaxTime {
				if err := l.advance(s, o.Watermark); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
