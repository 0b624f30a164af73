package source

import (
	"bytes"
	"iter"
)

// mostUnread is how many parts of an aligned split may lie with the reader before no more is fetched of it: one that is being handed
// on, and one behind it. Of others there are no more, since a response waits until the one before it is handed on.
const mostUnread = 2

// laterParts are parts of aligned splits that are being handed on, in the order in which they came: a batch of each in turn, of the
// splits that need not wait.
type laterParts struct {
	parts []*laterPart
}

type laterPart struct {
	split *split
	next  func() (Event, error, bool)
	stop  func()

	// first is the next event, or err, or there is none any more and the part has ended; all that if it is known.
	first        Event
	err          error
	ended, known bool
}

// waits finds out the next event and reports whether it has to wait: what brings no records does not, nor does the end.
func (p *laterPart) waits() bool {
	if !p.known {
		var ok bool
		p.first, p.err, ok = p.next()
		p.ended, p.known = !ok, true
	}
	return !p.ended && p.err == nil && p.first.Kind == EventBatch && len(p.first.Batch.Records) > 0 && p.split.place.Waits()
}

// add puts a part behind the others. It is taken apart as its events are needed.
func (l *laterParts) add(r *kafkaReader, p *part) {
	if p.split.place.Waits() {
		p.raw = bytes.Clone(p.raw) // or all of the response would lie there as long
	}
	next, stop := iter.Pull2(r.events(p, new(unpacker)))
	l.parts = append(l.parts, &laterPart{split: p.split, next: next, stop: stop})
}

// hand sends events until all that is left has to wait.
func (l *laterParts) hand(r *kafkaReader, send func(Event) error) error {
	for sent := len(l.parts) > 0; sent; {
		sent = false
		left := l.parts[:0]
		before := map[*split]bool{} // of a split, parts come one after the other
		for i, p := range l.parts {
			if before[p.split] || p.waits() {
				before[p.split] = true
				left = append(left, p)
				continue
			}
			if p.ended {
				sent = true // what is behind it may go
				r.handedOn(p.split)
				continue
			}
			err := p.err
			if err == nil {
				err = send(p.first)
			}
			if err != nil {
				l.parts = append(left, l.parts[i:]...)
				return err
			}
			sent, p.known = true, false
			before[p.split] = true
			left = append(left, p)
		}
		clear(l.parts[len(left):])
		l.parts = left
	}
	return nil
}

// stop ends the parts that are left.
func (l *laterParts) stop() {
	for _, p := range l.parts {
		p.stop()
	}
}

// handedOn notes that a part of a split was handed on: more of it may be fetched.
func (r *kafkaReader) handedOn(s *split) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.unread--
	if b := r.brokers[s.leader]; b != nil && s.unread == mostUnread-1 {
		wake(b.wake)
	}
}
