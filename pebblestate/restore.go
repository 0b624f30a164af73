package pebblestate

import (
	"context"
	"io"

	"github.com/weirstream/weir/checkpoint"
)

// RestoreOf is what a pointer says of the state that is to be restored, all but the deltas, which the caller reads and adds.
// fetch copies a file of the base, as [Fetch] does; it is called from several goroutines. [checkpoint.Files.DownloadTo] is one.
func RestoreOf(p *checkpoint.Pointer, fetch func(ctx context.Context, f checkpoint.File, create func() (io.WriteCloser, error)) error) Restore {
	r := Restore{Checkpoint: p.Checkpoint, Dropped: p.Dropped}
	for _, o := range p.Operators {
		for _, s := range o.States {
			r.States = append(r.States, State{
				ID: s.ID, Operator: o.Name,
				StateDesc: StateDesc{Name: s.Name, Kind: s.Kind, Type: s.Type, Version: s.Version, Schema: s.Schema},
			})
		}
	}
	if p.Base != nil {
		byHash := map[[32]byte]checkpoint.File{}
		for _, f := range p.Base.Files {
			byHash[f.Hash] = f
			r.Base = append(r.Base, BaseFile{Name: f.Local, Size: f.Size, Hash: f.Hash})
		}
		r.Fetch = func(ctx context.Context, f BaseFile, create func() (io.WriteCloser, error)) error {
			return fetch(ctx, byHash[f.Hash], create)
		}
	}
	return r
}
