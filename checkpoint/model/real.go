package model

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/stream"
)

// The decisions of the protocol are those of package checkpoint, not copies. They are functions of what they are given,
// so each question is asked once and its answer kept.
type decisions struct {
	concurrent int
	resolved   map[resolveQuestion]resolveAnswer
	fenced     map[fencedQuestion]checkpoint.FencedAction
	coord      map[coordQuestion]coordAnswer
}

func newDecisions(concurrent int) *decisions {
	return &decisions{concurrent, map[resolveQuestion]resolveAnswer{}, map[fencedQuestion]checkpoint.FencedAction{}, map[coordQuestion]coordAnswer{}}
}

type resolveQuestion struct {
	flags uint8
	last  pointer
	group uint8
}

type resolveAnswer struct {
	kind checkpoint.ResolutionKind
	// at has the ID of the last checkpoint, and where to begin.
	at pointer
}

var request = checkpoint.Request{Kind: checkpoint.RequestFrom, ID: "savepoint"}

func real(p pointer, attempt string) *checkpoint.Pointer {
	if p.id == 0 {
		return nil
	}
	r := &checkpoint.Pointer{
		Job: "job", Shards: 1, Checkpoint: int64(p.id), Attempt: attempt, Lineage: "lineage", Request: "start", KeyGroups: 1,
		Sources: []checkpoint.Source{{Name: "in", Splits: []checkpoint.Split{{Topic: "in", Offset: int64(p.in)}}}},
	}
	if p.from {
		r.Request = request.String()
	}
	return r
}

// resolve asks [checkpoint.Resolve].
func (d *decisions) resolve(q resolveQuestion) resolveAnswer {
	if a, ok := d.resolved[q]; ok {
		return a
	}
	s := checkpoint.Start{
		Job:  checkpoint.Description{Name: "job", Shards: 1, KeyGroups: 1, Sources: []string{"in"}},
		Last: real(q.last, "any"), Group: int64(q.group), NewLineage: "new",
		Savepoint: real(pointer{id: savepointID, in: savepointAt}, "savepoint"),
	}
	if q.flags == 1 {
		s.Request = request
	}
	r := checkpoint.Resolve(s)
	a := resolveAnswer{kind: r.Kind, at: pointer{id: uint8(r.Last), from: r.Request == request.String()}}
	switch r.Kind {
	case checkpoint.ResolvedFirst, checkpoint.ResolvedRefuse:
	case checkpoint.ResolvedContinue, checkpoint.ResolvedSavepoint:
		a.at.in = uint8(r.Pointer.Sources[0].Splits[0].Offset)
	default:
		panic(fmt.Sprintf("model: resolution %d", r.Kind))
	}
	a.at.begins = r.Kind != checkpoint.ResolvedContinue
	d.resolved[q] = a
	return a
}

type fencedQuestion struct {
	first, taken, watched, mine bool
	began, last                 uint8
}

// decideFenced asks [checkpoint.DecideFenced].
func (d *decisions) decideFenced(q fencedQuestion) checkpoint.FencedAction {
	if a, ok := d.fenced[q]; ok {
		return a
	}
	f := checkpoint.Fenced{Job: "job", Attempt: "own", FirstCommitted: q.first, Began: int64(q.began), Taken: q.taken}
	if q.watched {
		f.Watched = checkpoint.WatchFor
	}
	attempt := "other"
	if q.mine {
		attempt = "own"
	}
	f.Last = real(pointer{id: q.last}, attempt)
	a := checkpoint.DecideFenced(f).Action
	d.fenced[q] = a
	return a
}

type coordQuestion struct {
	committed, flight, prepared uint8
	beginning                   bool
}

// coordAnswer says what the coordinator wants: the commit of the next checkpoint, a trigger if there is something new.
type coordAnswer struct{ commit, trigger bool }

// coordinator asks a [checkpoint.Coordinator] that has come to the same place: committed is the last committed checkpoint
// of the attempt, flight those with a barrier out, prepared a bit for each of them.
func (d *decisions) coordinator(q coordQuestion) coordAnswer {
	if a, ok := d.coord[q]; ok {
		return a
	}
	var a coordAnswer
	now := time.Unix(0, 0)
	o := checkpoint.Options{Interval: time.Millisecond, Timeout: time.Hour, MaxConcurrent: d.concurrent}
	o.EnsureDefaults()
	task := stream.SubtaskID{Operator: "in"}
	first := int64(q.committed)
	if q.beginning {
		first++
	}
	c := checkpoint.NewCoordinator(o, []stream.SubtaskID{task}, first-1)
	take := func(decided []checkpoint.Decision) {
		for _, x := range decided {
			switch {
			case x.Kind == checkpoint.DecideCommit && x.Checkpoint == int64(q.committed)+1:
				a.commit = true
			case x.Kind == checkpoint.DecideCommit, x.Kind == checkpoint.DecideAbort:
				panic("model: coordinator: " + x.String())
			}
		}
	}
	tick := func() []checkpoint.Decision {
		now = now.Add(o.Interval)
		c.Activity()
		return c.Tick(now)
	}
	begun := c.Start(now)
	if q.beginning {
		take(begun)
	} else {
		c.Committed(first, now)
	}
	for i := range q.flight {
		take(tick())
		id := int64(q.committed + i + 1)
		take(c.Ack(task, id))
		if q.prepared>>i&1 == 1 {
			take(c.Persisted(id))
			take(c.Prepared(id))
		}
	}
	for _, x := range tick() {
		a.trigger = a.trigger || x.Kind == checkpoint.DecideTrigger && x.Checkpoint == int64(q.committed+q.flight)+1
	}
	d.coord[q] = a
	return a
}
