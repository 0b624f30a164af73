package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/weirstream/weir/checkpoint"
)

// Start is what a start asks for; nothing set means: continue from the last checkpoint, or begin. A supervisor repeats
// its flags at every restart, so what the current lineage began with is not done again. Drop and OnIncompatible mean the
// same whatever is restored: the last checkpoint, one to go back to, a savepoint, and at a restart inside the process.
type Start struct {
	// From is the directory or URL of a savepoint to start a new lineage from, or "checkpoint:41": a checkpoint of the job
	// itself, which it has retained (a directory of that name is "./checkpoint:41").
	From string
	// Fresh starts empty. FreshName tells one such request from another.
	Fresh     bool
	FreshName string
	// OffsetsFrom, with Fresh, is the savepoint or checkpoint whose offsets the new lineage begins with. Its state is empty.
	OffsetsFrom string
	// Again does it even if the current lineage began so, or has dropped the state that Drop names.
	Again bool
	// Drop names state that is not to be restored: "count" is all states of an operator, "count/sum" one of them, and the name
	// of a source that the job does not read any more its offsets. A name that nothing has is an error.
	Drop []string
	// OnIncompatible says what happens if something does not fit the job: "fail" (the default), "drop:NAME[,NAME]" drops these
	// states, named as in Drop, if they do not fit, "fresh" begins empty.
	OnIncompatible string
}

// request is the part of a checkpoint.Request that needs nobody to be asked, and where the lineage begins.
func (s *Start) request() (r checkpoint.Request, from string, err error) {
	switch {
	case s.From != "" && s.Fresh:
		return r, "", errors.New("a start is either from a savepoint or fresh, not both")
	case s.OffsetsFrom != "" && (!s.Fresh || s.FreshName != ""):
		return r, "", errors.New("offsets from a savepoint go with a fresh start, which needs no name then")
	case strings.Contains(s.FreshName, "#"):
		return r, "", fmt.Errorf("%q: a name of a fresh start has no #", s.FreshName)
	case s.OffsetsFrom != "":
		r.Kind, from = checkpoint.RequestOffsets, s.OffsetsFrom
	case s.Fresh:
		r.Kind, r.ID = checkpoint.RequestFresh, s.FreshName
	case s.From != "":
		r.Kind, from = checkpoint.RequestFrom, s.From
	}
	if err := checkpoint.CheckDrops(s.Drop); err != nil {
		return r, "", fmt.Errorf("drop: %w", err)
	}
	r.Drop = s.Drop
	if r.Incompatible, err = checkpoint.ParseIncompatible(s.OnIncompatible); err != nil {
		return r, "", fmt.Errorf("on incompatible: %w", err)
	}
	if strings.HasPrefix(from, checkpoint.FromCheckpointPrefix) {
		id, err := checkpoint.ParseCheckpoint(from)
		if err != nil {
			return r, "", err
		}
		r.ID = checkpoint.FromCheckpoint(id).ID
	}
	return r, from, nil
}

// Validate reports what of a start contradicts itself.
func (s *Start) Validate() error {
	_, _, err := s.request()
	return err
}

// request says what the start asks for, and reads the savepoint that it names. Only a process that has committed nothing
// yet asks for another lineage: a restart goes on, with the same policy.
func (a *attempt) request(ctx context.Context, last *checkpoint.Pointer) (checkpoint.Request, *checkpoint.Pointer, error) {
	r, from, err := a.cfg.Start.request()
	if err != nil {
		return r, nil, &OptionError{err}
	}
	if a.job.ran.Load() {
		return checkpoint.Request{Drop: r.Drop, Incompatible: r.Incompatible}, nil, nil
	}
	if a.cfg.Start.Again {
		r.Again = a.job.id
	}
	if from == "" {
		return r, nil, nil
	}
	if id, of := strings.CutPrefix(from, checkpoint.FromCheckpointPrefix); of {
		if last != nil && r.CarriedOut(last.Request) {
			return r, nil, nil // it need not be there any more
		}
		// Read anew after the fencing: what is retained may have moved on.
		n, err := checkpoint.ParseCheckpoint(checkpoint.FromCheckpointPrefix + id)
		if err != nil {
			return r, nil, &OptionError{err}
		}
		if a.savepoint, err = a.earlier(ctx, last, n); err != nil {
			return r, nil, err
		}
		return r, a.savepoint.Pointer, nil
	}
	m := a.savepoint
	if m == nil {
		m, err = a.readSavepoint(ctx, from)
	}
	if errors.Is(err, fs.ErrNotExist) && last != nil && last.From == from && !a.cfg.Start.Again {
		// The lineage began from it, and needs it no more.
		return checkpoint.Request{Drop: r.Drop, Incompatible: r.Incompatible}, nil, nil
	}
	if checkpoint.IsStoreTrouble(err) {
		return r, nil, err // nothing is wrong with the savepoint
	}
	if err != nil {
		return r, nil, &checkpoint.RefusedError{Findings: []string{err.Error()}}
	}
	a.savepoint, r.ID = m, m.ID
	return r, m.Pointer, nil
}

func (a *attempt) readSavepoint(ctx context.Context, from string) (*checkpoint.Manifest, error) {
	m, files, err := checkpoint.OpenSavepoint(ctx, from, a.cfg.Listener)
	if err != nil {
		return nil, err
	}
	files.Fault = a.cfg.Fault
	a.closers = append(a.closers, func() { _ = files.Store().Close() })
	a.savepointFiles = files
	return m, nil
}
