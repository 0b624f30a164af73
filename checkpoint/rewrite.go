package checkpoint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/weirstream/weir/stream"
)

// SplitKey names a split of a savepoint. An empty Source stands for every source that reads the partition.
type SplitKey struct {
	Source, Topic string
	Partition     int32
}

func (k SplitKey) String() string {
	s := fmt.Sprintf("%s/%d", k.Topic, k.Partition)
	if k.Source != "" {
		s = k.Source + ":" + s
	}
	return s
}

// LogRange is what the log of a partition has: records from Start to before End.
type LogRange struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// Edits are the changes that [Rewrite] makes to a savepoint. All names are those that the savepoint has, before any renaming.
type Edits struct {
	// SetOffset is the next offset to read of a split.
	SetOffset map[SplitKey]int64
	// Log is what the logs have, as far as it is known. An offset outside of it is a mistake, unless Force is set.
	Log   map[SplitKey]LogRange
	Force bool
	// TopicIDs are the IDs of source topics that were deleted and made again. Their offsets mean other records now, so every
	// split of such a topic needs a SetOffset.
	TopicIDs map[string]TopicID
	// DropState names operators ("count"), all of whose states go, states ("count/sum"), and sources ("views") and topics of
	// sources ("views/clicks"), whose offsets go.
	DropState []string
	// Rename maps names of operators, sources and sinks to new ones, all at once: two may change places.
	Rename map[string]string
	// AcceptKeys names operators whose keys stay what they were although their definition has another text: it is not compared.
	AcceptKeys []string
	// ResetWatermarks lets event time begin anew in the whole job.
	ResetWatermarks bool
}

// List is what is to be changed, one edit an entry, in an order that does not depend on how it was asked for.
func (e Edits) List() []string {
	var out []string
	for k, at := range e.SetOffset {
		out = append(out, fmt.Sprintf("set-offset %s=%d", k, at))
	}
	for topic, id := range e.TopicIDs {
		out = append(out, fmt.Sprintf("topic-id %s=%s", topic, id))
	}
	for _, name := range e.DropState {
		out = append(out, "drop-state "+name)
	}
	for old, name := range e.Rename {
		out = append(out, fmt.Sprintf("rename %s=%s", old, name))
	}
	for _, name := range e.AcceptKeys {
		out = append(out, "accept-keys "+name)
	}
	if e.ResetWatermarks {
		out = append(out, "reset-watermarks")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// EffectKind says what an [Effect] is.
type EffectKind string

const (
	// EffectReadAgain and EffectSkip are splits that were moved back or forward; EffectStay is one that is where it was.
	EffectReadAgain EffectKind = "read again"
	EffectSkip      EffectKind = "skip"
	EffectStay      EffectKind = "stay"
	// EffectTwice: state takes records a second time, or results are written a second time.
	EffectTwice EffectKind = "twice"
	// EffectLate: records that are read again may be late.
	EffectLate EffectKind = "late"
	// EffectTime: event time begins anew.
	EffectTime EffectKind = "time"
	// EffectTopic: the offsets are those of a topic that was made again.
	EffectTopic EffectKind = "topic"
	// EffectGoesOn: the savepoint is not at the end of the input any more.
	EffectGoesOn EffectKind = "goes on"
	// EffectDrained: nothing goes on from it.
	EffectDrained EffectKind = "drained"
	EffectDrop    EffectKind = "drop"
	EffectRename  EffectKind = "rename"
	// EffectKeys: what the keys of an operator are is not compared.
	EffectKeys EffectKind = "keys"
)

// Effect is one thing that a rewritten savepoint does differently.
type Effect struct {
	Kind EffectKind `json:"kind"`
	// Split is set for the first three kinds.
	Split *MovedSplit `json:"split,omitempty"`
	// Step is the operator, source or sink, and State its state, "" where none is meant.
	Step  string `json:"step,omitempty"`
	State string `json:"state,omitempty"`
	// Text is one line that says it to a person.
	Text string `json:"text"`
}

// MovedSplit is a split with the offset that it had and the one that it has.
type MovedSplit struct {
	Source    string `json:"source"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	To        int64  `json:"to"`
	// Records are those between the two: at most so many, since not every offset needs to be a record. With a Log only those
	// that it has are counted.
	Records int64     `json:"records"`
	Log     *LogRange `json:"log,omitempty"`
}

// rewriteSpace is the name space of the lineages that rewriting makes.
var rewriteSpace = uuid.MustParse("5c1a1d1e-0f5b-4b7e-9a43-3f2b8a4f6f10")

// Rewrite applies edits to the pointer of a savepoint. The result is the pointer of a new savepoint, with a lineage of its own:
// a job remembers by its ID from which savepoint it began, and would take one with the old ID for done (C17). The lineage is
// made of the old ID and the edits, so the same edits of the same savepoint make the same one, and a rewriting that was
// interrupted can be repeated.
//
// Dropped states keep their entries in the files: their numbers go into Dropped, and nobody reads them. Where an offset is
// moved back and state with a watermark is kept, watermarks stay, since windows that have fired are gone and must not be opened
// again by a part of their records: records read again count as late where they are before the watermark. Where no such state is
// left, nothing can be contradicted, and event time begins anew, as it does with ResetWatermarks.
//
// The error has every mistake, joined, and each names what there is. p is not changed; the result shares its files.
func Rewrite(p *Pointer, e Edits) (*Pointer, []Effect, error) {
	list := e.List()
	if len(list) == 0 {
		return nil, nil, errors.New("there is nothing to change")
	}
	out := *p
	out.Lineage = uuid.NewSHA1(rewriteSpace, []byte(SavepointID(p)+"\n"+strings.Join(list, "\n"))).String()
	out.Request = Request{Kind: RequestFrom, ID: SavepointID(p)}.String()
	out.From, out.Drops = "", slices.Clone(p.Drops)
	out.Topics = slices.Clone(p.Topics)
	out.Operators = slices.Clone(p.Operators)
	out.Sources = slices.Clone(p.Sources)
	for i, src := range out.Sources {
		out.Sources[i].Splits = slices.Clone(src.Splits)
		for j, s := range src.Splits {
			out.Sources[i].Splits[j].MaxTimestamps = maps.Clone(s.MaxTimestamps)
		}
	}
	out.Dropped = slices.Clone(p.Dropped)
	r := &rewriting{p: &out, e: e, had: map[string]bool{}}
	r.contradictions()
	r.moveSplits()
	r.newTopics()
	r.drop()
	r.acceptKeys()
	r.time()
	r.rename()
	if len(r.errs) > 0 {
		return nil, nil, errors.Join(r.errs...)
	}
	return r.p, r.effects, nil
}

// rewriting is a Rewrite under way.
type rewriting struct {
	p       *Pointer
	e       Edits
	effects []Effect
	errs    []error
	// back are the splits that were moved back, or are new because their topic is.
	back []*Split
	// had are the operators that had state.
	had map[string]bool
}

func (r *rewriting) wrong(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

func (r *rewriting) tell(e Effect, format string, args ...any) {
	e.Text = fmt.Sprintf(format, args...)
	r.effects = append(r.effects, e)
}

// drop takes states out, and keeps their numbers from being given to others.
func (r *rewriting) drop() {
	known := map[string]bool{}
	for i, o := range r.p.Operators {
		if len(o.States) == 0 {
			continue
		}
		known[o.Name], r.had[o.Name] = true, true
		var left []State
		for _, s := range o.States {
			name := o.Name + "/" + s.Name
			known[name] = true
			if !slices.ContainsFunc(r.e.DropState, func(drop string) bool {
				step, state, one := strings.Cut(drop, "/")
				return step == o.Name && (!one || meansState(o.States, state, s.Name))
			}) {
				left = append(left, s)
				continue
			}
			r.p.Dropped = append(r.p.Dropped, s.ID)
			r.tell(Effect{Kind: EffectDrop, Step: o.Name, State: s.Name}, "operator %q: state %q (%s of %s) is dropped", o.Name, s.Name, s.Kind, s.Type)
		}
		r.p.Operators[i].States = left
	}
	r.dropTopics(known)
	r.p.Sources = slices.DeleteFunc(r.p.Sources, func(src Source) bool {
		known[src.Name] = true
		if !slices.Contains(r.e.DropState, src.Name) {
			return false
		}
		r.p.Topics = slices.DeleteFunc(r.p.Topics, func(t Topic) bool { return t.Role == "source" && t.Step == src.Name })
		r.tell(Effect{Kind: EffectDrop, Step: src.Name}, "source %q: its offsets are dropped: a job that has it, or another source of its topics, begins there where its start says: what was read before is read again, also into state that is kept", src.Name)
		return true
	})
	slices.Sort(r.p.Dropped)
	r.p.Dropped = slices.Compact(r.p.Dropped)
	maps.DeleteFunc(known, func(_ string, is bool) bool { return !is })
	have := slices.Sorted(maps.Keys(known))
	for _, name := range slices.Compact(slices.Sorted(slices.Values(r.e.DropState))) {
		switch {
		case known[name]:
		case len(have) == 0:
			r.wrong("drop-state %s: the savepoint has no state and no offsets", name)
		default:
			r.wrong("drop-state %s: there is no such state: it has %s", name, some(have))
		}
	}
}

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

// some lists at most as many names as a message has room for.
func some(names []string) string {
	if len(names) > splitsTold {
		names = append(slices.Clone(names[:splitsTold]), fmt.Sprintf("%d more", len(names)-splitsTold))
	}
	return strings.Join(names, ", ")
}
