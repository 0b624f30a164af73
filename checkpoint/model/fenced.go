package model

import "github.com/weirstream/weir/checkpoint"

// ask looks who has the slots that the attempt has no transaction in. The broker fences those for nobody but another process.
// With a transaction in each of them there is nothing to tell by, and another process is taken for granted.
func (e *explorer) ask(s *state, i uint8) {
	n := *s
	p := &n.procs[i]
	idle := e.idle(p)
	p.taken = idle == 0 || idle&^p.owned != 0
	p.forget()
	p.pc = deciding
	e.emit(move{askTaken, i, bit(p.taken), 0}, &n, e.found())
}

// decide reads the last pointer, without waiting for what is not decided, and decides what a fenced attempt does.
func (e *explorer) decide(s *state, i uint8) {
	p := &s.procs[i]
	q := fencedQuestion{first: p.first, taken: p.taken, began: p.began}
	if k := s.lastBelow(s.stable()); k >= 0 {
		q.last, q.mine = s.log[k].ptr.id, p.mine>>k&1 == 1
	}
	e.follow(s, i, q, move{decide, i, q.last, bit(q.mine)})
	if p.pc == watching {
		q.watched = true
		e.follow(s, i, q, move{watchOver, i, q.last, bit(q.mine)})
	}
}

func (e *explorer) follow(s *state, i uint8, q fencedQuestion, m move) {
	n, f := *s, e.found()
	p := &n.procs[i]
	action := e.real.decideFenced(q)
	switch e.Departure {
	case FencesBack:
		action = checkpoint.FencedRecover
	case FencedStops:
		action = checkpoint.FencedStop
	case StopsForOlder:
		if q.last > 0 && !q.mine && q.first {
			action = checkpoint.FencedStop
		}
	}
	newer := !q.mine && q.last > p.at.id
	switch action {
	case checkpoint.FencedWatch:
		if p.pc == watching {
			return
		}
		p.pc = watching
	case checkpoint.FencedStop:
		p.reset()
		p.pc, p.ran = takenOver, false
		if !newer {
			f.add(Stops, "a process stops because another one runs the job, and none does")
		}
		stopped := true
		for k := range e.Processes {
			stopped = stopped && n.procs[k].pc == takenOver
		}
		if stopped {
			f.add(Stops, "every process has stopped for another one")
		}
	default:
		if newer {
			f.add(Stops, "a process takes the job back from a newer attempt that runs it")
		}
		e.begin(p)
	}
	e.emit(m, &n, f)
}
