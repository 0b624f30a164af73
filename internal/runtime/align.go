package runtime

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/checkpoint"
)

// align tells the aligner of a barrier and carries out what it decides.
func (s *operatorSubtask) align(channel int, id int64) error {
	for _, ev := range s.aligner.Barrier(channel, id) {
		switch ev.Kind {
		case checkpoint.AlignBegin:
			s.began = time.Now()
		case checkpoint.AlignBlock:
			s.gate.hold(true, ev.Channel)
			if missing := s.aligner.WaitsFor(); len(missing) > 0 {
				s.a.coord.send(alignment{s.chain.subtask, id, fmt.Sprintf("the barrier of channel %d (from %s)", missing[0], s.from[missing[0]])})
			}
		case checkpoint.AlignUnblock:
			s.gate.hold(false, ev.Channel)
		case checkpoint.AlignSnapshot:
			if err := s.snapshot(ev.Checkpoint); err != nil {
				return err
			}
		case checkpoint.AlignFail:
			return fmt.Errorf("%s", ev.Reason)
		}
	}
	return nil
}

func (s *operatorSubtask) snapshot(id int64) error {
	s.dirty.Store(false)
	s.chain.moved.Store(false)
	aligned := time.Now()
	snap, err := s.chain.barrier(id)
	if err != nil {
		return err
	}
	s.a.cfg.Listener.OnAlign(checkpoint.AlignedEvent{Checkpoint: id, Subtask: s.chain.subtask, Took: aligned.Sub(s.began)})
	return s.a.acknowledge(snap)
}
