package checkpoint

import "strings"

// RequestKind is what a start asks for.
type RequestKind int

const (
	// RequestNone goes on from the last pointer, or begins for the first time.
	RequestNone RequestKind = iota
	// RequestFresh begins empty, whatever there is.
	RequestFresh
	// RequestFrom begins a new lineage from a savepoint.
	RequestFrom
)

// Request is what a start asks for, by the flags it was given. A supervisor gives the same flags at every restart, so a
// request that the current lineage has carried out is not carried out again.
type Request struct {
	Kind RequestKind
	// ID tells requests of one kind apart: of RequestFrom the savepoint's ID, of RequestFresh a name that the user may give
	// ("" is one too).
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

// carriedOut reports whether a lineage whose pointers record the given request is what r asks for.
func (r Request) carriedOut(recorded string) bool {
	switch {
	case r.Kind == RequestNone:
		return true
	case r.Again != "":
		return recorded == r.String()
	}
	base, _, _ := strings.Cut(recorded, "#")
	return base == r.String()
}
