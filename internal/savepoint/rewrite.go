package savepoint

import (
	"context"
	"fmt"

	"github.com/weirstream/weir/checkpoint"
)

// RewriteOptions say how a savepoint is to be changed.
type RewriteOptions struct {
	// Offsets are the splits to move.
	Offsets []OffsetEdit
	// Clusters gives the cluster of a source, by the name that the source has in the savepoint; nil if no brokers were named:
	// then only plain numbers can be set, and nobody knows what the logs have.
	Clusters func(ctx context.Context, source string) (Logs, error)
	// Force takes offsets outside of the log.
	Force bool
	// DropState, AcceptKeys, Rename and ResetWatermarks are those of [checkpoint.Edits].
	DropState       []string
	AcceptKeys      []string
	Rename          map[string]string
	ResetWatermarks bool
}

// Rewriting is a new savepoint that has not been written yet.
type Rewriting struct {
	// ID is that of the new savepoint, From that of the old one.
	ID      string              `json:"id"`
	From    string              `json:"rewritten_from"`
	Edits   []string            `json:"edits"`
	Effects []checkpoint.Effect `json:"effects"`

	savepoint *Savepoint
	manifest  *checkpoint.Manifest
}

// Plan says what a rewriting makes of the savepoint. Nothing is written. An error that the user has to mend is an
// [*EditError], which may join several.
func (s *Savepoint) Plan(ctx context.Context, o RewriteOptions) (*Rewriting, error) {
	edits := checkpoint.Edits{Force: o.Force, DropState: o.DropState, AcceptKeys: o.AcceptKeys, Rename: o.Rename, ResetWatermarks: o.ResetWatermarks}
	if err := resolve(ctx, s.Pointer(), o, &edits); err != nil {
		return nil, err
	}
	p, effects, err := checkpoint.Rewrite(s.Pointer(), edits)
	if err != nil {
		return nil, &EditError{err}
	}
	p.From = s.Location
	m, err := checkpoint.NewManifest(p)
	if err != nil {
		return nil, err
	}
	m.Rewritten = &checkpoint.Rewritten{From: s.Manifest.ID, Edits: edits.List()}
	return &Rewriting{ID: m.ID, From: s.Manifest.ID, Edits: m.Rewritten.Edits, Effects: effects, savepoint: s, manifest: m}, nil
}

// EditError is what is wrong with the edits of a savepoint.
type EditError struct{ Err error }

func (e *EditError) Error() string { return e.Err.Error() }
func (e *EditError) Unwrap() error { return e.Err }

func editf(format string, args ...any) error { return &EditError{fmt.Errorf(format, args...)} }

// Write writes the new savepoint to a place of its own, with all the files that it needs. It may be repeated.
func (r *Rewriting) Write(ctx context.Context, to string) (*Copied, error) {
	return r.savepoint.write(ctx, to, r.manifest)
}
