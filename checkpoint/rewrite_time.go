package checkpoint

import (
	"fmt"

	"github.com/weirstream/weir/stream"
)

// time decides whether event time begins anew, and says what becomes of records that are read again.
func (r *rewriting) time() {
	var keep, late []string
	timed, keepsTime := false, false // some operator knows of event time; one with state does
	for _, o := range r.p.Operators {
		for _, s := range o.States {
			keep = append(keep, o.Name+"/"+s.Name)
		}
		if o.Watermark == stream.MinTime {
			continue
		}
		timed = true
		keepsTime = keepsTime || len(o.States) > 0
		if r.had[o.Name] {
			late = append(late, fmt.Sprintf("%s: %s", o.Name, timeOf(o.Watermark)))
		}
	}
	if r.p.Drained && len(keep) == 0 {
		// Windows that fired before their time are gone, so there is nothing that must not go on.
		r.p.Final, r.p.Drained = false, false
		r.tell(Effect{Kind: EffectGoesOn}, "the savepoint was drained, and nothing is left of its state: it can be gone on from")
		r.resetTime()
		return
	}
	if r.p.Drained {
		r.tell(Effect{Kind: EffectDrained}, "the savepoint was drained: nothing goes on from it while state is left (%s)", some(keep))
	}
	again := len(r.back) > 0
	if again && len(keep) > 0 {
		r.tell(Effect{Kind: EffectTwice}, "state that has these records already takes them again: %s", some(keep))
	}
	if again {
		r.tell(Effect{Kind: EffectTwice}, "results of records that are read again are written again")
	}
	switch {
	case r.e.ResetWatermarks:
		r.tell(Effect{Kind: EffectTime}, "event time begins anew, as asked for: a window that has fired fires again if its records are read again, with those alone")
	case again && timed && !keepsTime:
		r.tell(Effect{Kind: EffectTime}, "event time begins anew: no state is left that would contradict it")
	case again && timed:
		r.tell(Effect{Kind: EffectLate}, "watermarks stay (%s): records that are read again and are before them are late", some(late))
		return
	default:
		return
	}
	r.resetTime()
}

// resetTime lets event time begin anew. What a split has seen stays unless it is read again.
func (r *rewriting) resetTime() {
	for i := range r.p.Operators {
		r.p.Operators[i].Watermark = stream.MinTime
	}
	for _, s := range r.back {
		s.MaxTimestamps = nil
	}
}
