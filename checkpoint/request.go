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
)

// Request is what a start asks for, by the flags it was given. A supervisor gives the same flags at every restart, so a
// request that the current lineage has carried out is not carried out again.
type Request struct {
	Kind RequestKind
	// ID tells requests of one kind apart: of RequestFrom the savepoint's ID or "checkpoint:<id>", of RequestFresh a name that
	// the user may give ("" is one too).
	ID string
	// Again, if not empty, carries the request out once more. It is a UUID made once a process, so that a restart inside the
	// process goes on and one of the process begins again.
	Again string
}

// String is the request as pointers record it: "start", "fresh:<id>", "from:<id>", and with Again "...#<again>".
func (r Request) String() string {
	var s string
	switch r.Kind {
	case RequestFresh:
		s = "fresh:" + r.ID
	case RequestFrom:
		s = "from:" + r.ID
	default:
		return "start"
	}
	if r.Again != "" {
		s += "#" + r.Again
	}
	return s
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
		return recorded == r.String()
	}
	base, _, _ := strings.Cut(recorded, "#")
	return base == r.String()
}
