package checkpoint

import (
	"fmt"
	"strconv"
	"strings"
)

// RequestKind is what a start asks for.
type RequestKind int

const (
	// RequestNone goes on from the last pointer, or begins for the first time.
	RequestNone RequestKind = iota
	// RequestFresh begins empty, whatever there is.
	RequestFresh
	// RequestFrom begins a new lineage from a savepoint, or from a checkpoint that the job has retained.
	RequestFrom
	// RequestOffsets begins a new lineage with the offsets of a savepoint or of a retained checkpoint, and with empty state.
	RequestOffsets
)

// Request is what a start asks for, by the flags it was given. A supervisor gives the same flags at every restart, so a
// request that the current lineage has carried out is not carried out again.
type Request struct {
	Kind RequestKind
	// ID tells requests of one kind apart: of RequestFrom and RequestOffsets the savepoint's ID or "checkpoint:<id>", of
	// RequestFresh a name that the user may give ("" is one too).
	ID string
	// Again, if not empty, carries the request out once more. It is a UUID made once a process, so that a restart inside the
	// process goes on and one of the process begins again.
	Again string
	// Drop names what is not to be restored: "count" is all states of an operator, "count/sum" one of them, and the name of a
	// source that the job does not have any more its offsets. Pointers record them, see [Pointer.Drops].
	Drop []string
	// Incompatible says what happens if something does not fit the job.
	Incompatible Incompatible
}

// String is the request as pointers record it: "start", "fresh:<id>", "from:<id>", "offsets:<id>", and with Again
// "...#<again>".
func (r Request) String() string {
	if r.Kind == RequestNone || r.Again == "" {
		return r.what()
	}
	return r.what() + "#" + r.Again
}

func (r Request) what() string {
	switch r.Kind {
	case RequestFresh:
		return "fresh:" + r.ID
	case RequestFrom:
		return "from:" + r.ID
	case RequestOffsets:
		return "offsets:" + r.ID
	}
	return "start"
}

// emptied is what pointers record of a request where nothing fitted and the lineage began empty, as
// --on-incompatible=fresh says: the request counts as carried out.
const emptied = "+fresh"

// asEmptied adds that to what is recorded. A lineage that has begun empty as asked for is none of these.
func asEmptied(recorded string) string {
	what, again, ok := strings.Cut(recorded, "#")
	if strings.HasPrefix(what, "fresh:") || strings.HasSuffix(what, emptied) {
		return recorded
	}
	if what += emptied; ok {
		what += "#" + again
	}
	return what
}

// FromCheckpointPrefix begins what names a checkpoint of the job where a savepoint's directory may be named too.
const FromCheckpointPrefix = "checkpoint:"

// ParseCheckpoint returns the ID in "checkpoint:<id>".
func ParseCheckpoint(from string) (int64, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(from, FromCheckpointPrefix), 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("%q: want %sID, such as %s41, or a savepoint's directory", from, FromCheckpointPrefix, FromCheckpointPrefix)
	}
	return id, nil
}

// FromCheckpoint asks for a new lineage from a checkpoint of the job. IDs are never used twice, so that this needs no other
// name.
func FromCheckpoint(id int64) Request {
	return Request{Kind: RequestFrom, ID: FromCheckpointPrefix + strconv.FormatInt(id, 10)}
}

// beginning names what a request begins from: "savepoint <id>", "checkpoint <id>".
func beginning(id string) string {
	if n, ok := strings.CutPrefix(id, FromCheckpointPrefix); ok {
		return "checkpoint " + n
	}
	return "savepoint " + id
}

// CarriedOut reports whether a lineage whose pointers record the given request is what r asks for.
func (r Request) CarriedOut(recorded string) bool {
	switch {
	case r.Kind == RequestNone:
		return true
	case r.Again != "":
		return recorded == r.String() || recorded == asEmptied(r.String())
	}
	base, _, _ := strings.Cut(recorded, "#")
	if r.Kind != RequestFresh { // whose name may end so
		base = strings.TrimSuffix(base, emptied)
	}
	return base == r.String()
}

// From is what the pointers of the resolution's lineage say of the savepoint that it began from: asked is the one that the
// start named. Where a lineage began empty since nothing fitted, they say it too, since the request that names it is carried
// out.
func (r Resolution) From(last *Pointer, asked string) string {
	switch {
	case r.Kind == ResolvedContinue:
		return r.Pointer.From
	case r.Kind == ResolvedFresh && last != nil && r.Request == asEmptied(last.Request):
		return last.From
	case r.Kind == ResolvedFirst:
		return ""
	}
	return asked
}

// StateFrom is the savepoint whose state the lineage of a pointer began with, OffsetsFrom the one of which it took the
// offsets only; "" if there is none.
func (p *Pointer) StateFrom() string { return p.beganAs("from:") }

// OffsetsFrom: see StateFrom.
func (p *Pointer) OffsetsFrom() string { return p.beganAs("offsets:") }

func (p *Pointer) beganAs(prefix string) string {
	what, _, _ := strings.Cut(p.Request, "#")
	if !strings.HasPrefix(what, prefix) || strings.HasSuffix(what, emptied) {
		return ""
	}
	return p.From
}
