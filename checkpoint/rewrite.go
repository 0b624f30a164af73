package checkpoint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
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
	// Rename maps names of operators, sources and sinks to new ones, all at once: two may change places. It comes after DropState:
	// a step of which nothing is left gives its name away.
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
	r := &rewriting{p: &out, e: e, had: map[string]bool{}, hadSplits: map[string]bool{}}
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
	// had are the operators that had state, hadSplits the sources that had splits.
	had, hadSplits map[string]bool
}

func (r *rewriting) wrong(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

func (r *rewriting) tell(e Effect, format string, args ...any) {
	e.Text = fmt.Sprintf(format, args...)
	r.effects = append(r.effects, e)
}

// some lists at most as many names as a message has room for.
func some(names []string) string {
	if len(names) > splitsTold {
		names = append(slices.Clone(names[:splitsTold]), fmt.Sprintf("%d more", len(names)-splitsTold))
	}
	return strings.Join(names, ", ")
}
