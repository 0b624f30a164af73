package savepoint

import (
	"context"
	"slices"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/stream"
)

// Report is what a savepoint holds.
type Report struct {
	Header
	Attempt string `json:"attempt"`
	Host    string `json:"host"`
	// Request is what the lineage began with, From the savepoint or checkpoint that was its beginning.
	Request   string              `json:"request"`
	From      string              `json:"from,omitempty"`
	KeyGroups int                 `json:"key_groups"`
	Topics    []checkpoint.Topic  `json:"topics"`
	Sources   []checkpoint.Source `json:"sources"`
	Operators []OperatorReport    `json:"operators"`
	// Dropped are the numbers of states that were dropped.
	Dropped []uint16 `json:"dropped,omitempty"`
	// Files are all that the savepoint consists of, its manifest first; Bytes is their size.
	Files []checkpoint.File `json:"files"`
	Bytes int64             `json:"bytes"`
}

// Header says which savepoint it is.
type Header struct {
	Location   string `json:"location"`
	ID         string `json:"id"`
	Job        string `json:"job"`
	Lineage    string `json:"lineage"`
	Checkpoint int64  `json:"checkpoint"`
	// Time is milliseconds since the Unix epoch.
	Time int64 `json:"time"`
}

// OperatorReport is one operator and its states. Watermark is milliseconds since the Unix epoch.
type OperatorReport struct {
	Name      string        `json:"name"`
	Kind      string        `json:"kind"`
	Watermark int64         `json:"watermark"`
	States    []StateReport `json:"states"`
}

// StateReport is one state and what is in it.
type StateReport struct {
	checkpoint.State
	// Entries is how many there are, Keys of how many keys, KeyGroups of how many key groups.
	Entries   int64 `json:"entries"`
	Keys      int64 `json:"keys"`
	KeyGroups int   `json:"key_groups"`
	// Bytes is the size of keys, namespaces and values, as they are before compression.
	Bytes int64 `json:"bytes"`
	// Largest are the keys with most bytes, over all their namespaces.
	Largest []KeySize `json:"largest"`
}

// KeySize is how much a key has.
type KeySize struct {
	Key     Key   `json:"key"`
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`
}

// largest is how many keys of a state are named.
const largest = 5

func (s *Savepoint) header() Header {
	p := s.Pointer()
	return Header{s.Location, s.Manifest.ID, p.Job, p.Lineage, p.Checkpoint, p.Time}
}

// Inspect reads all of a savepoint's state; scratch is that of [Savepoint.State].
func Inspect(ctx context.Context, s *Savepoint, scratch string) (*Report, error) {
	p := s.Pointer()
	r := &Report{
		Header: s.header(), Attempt: p.Attempt, Host: p.Host, Request: p.Request, From: p.From, KeyGroups: p.KeyGroups,
		Topics: p.Topics, Sources: p.Sources, Operators: []OperatorReport{}, Dropped: p.Dropped,
	}
	manifest, err := manifestFile(ctx, s.Files.Store())
	if err != nil {
		return nil, err
	}
	r.Files = append([]checkpoint.File{manifest}, p.AllFiles()...)
	for _, f := range r.Files {
		r.Bytes += f.Size
	}
	view, err := s.State(ctx, scratch)
	if err != nil {
		return nil, err
	}
	for _, o := range p.Operators {
		or := OperatorReport{Name: o.Name, Kind: o.Kind, Watermark: o.Watermark, States: []StateReport{}}
		for _, st := range o.States {
			sr, err := measure(ctx, view, st)
			if err != nil {
				_ = view.Close()
				return nil, s.errorOf(o.Name, st.Name, err)
			}
			or.States = append(or.States, sr)
		}
		r.Operators = append(r.Operators, or)
	}
	return r, view.Close()
}

// measure counts what a state has.
func measure(ctx context.Context, view *pebblestate.View, st checkpoint.State) (StateReport, error) {
	r := StateReport{State: st, Largest: []KeySize{}}
	var key []byte
	var size KeySize
	group := stream.KeyGroup(0)
	finish := func() {
		if r.Keys == 0 {
			return
		}
		if len(r.Largest) == largest && size.Bytes <= r.Largest[largest-1].Bytes {
			return
		}
		size.Key = Key(key)
		at, _ := slices.BinarySearchFunc(r.Largest, size, func(a, b KeySize) int {
			if a.Bytes >= b.Bytes {
				return -1
			}
			return 1
		})
		r.Largest = slices.Insert(r.Largest, at, size)
		r.Largest = r.Largest[:min(len(r.Largest), largest)]
	}
	for e, err := range view.Entries(ctx, st.ID) {
		if err != nil {
			return r, err
		}
		if r.Keys == 0 || e.Group != group {
			r.KeyGroups++
		}
		if r.Keys == 0 || e.Group != group || string(e.Key) != string(key) {
			finish()
			key, group, size = append(key[:0], e.Key...), e.Group, KeySize{}
			r.Keys++
		}
		n := int64(len(e.Key) + len(e.Namespace) + len(e.Value))
		r.Entries++
		r.Bytes += n
		size.Entries++
		size.Bytes += n
	}
	finish()
	return r, nil
}
