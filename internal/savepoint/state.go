package savepoint

import (
	"context"
	"fmt"
	"os"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/pebblestate"
)

// State opens the state to look at. Its files are copied, each verified by its hash, to a directory of its own below
// scratch, the system's for temporary files if that is "". The view's Close removes it.
func (s *Savepoint) State(ctx context.Context, scratch string) (*pebblestate.View, error) {
	p := s.Pointer()
	fail := func(err error) (*pebblestate.View, error) {
		return nil, fmt.Errorf("savepoint %s: %w", s.Location, err)
	}
	var deltas []pebblestate.Delta
	for _, d := range p.Deltas {
		if d.File == nil {
			return fail(fmt.Errorf("the delta of checkpoint %d is not in a file: %w", d.Checkpoint, checkpoint.ErrCorrupt))
		}
		repr, err := s.read(ctx, *d.File)
		if err != nil {
			return fail(err)
		}
		deltas = append(deltas, pebblestate.Delta{First: d.First, Checkpoint: d.Checkpoint, Repr: repr})
	}
	dir, err := os.MkdirTemp(scratch, "weir-savepoint-")
	if err != nil {
		return fail(err)
	}
	restore := pebblestate.RestoreOf(p, s.Files.DownloadTo)
	restore.Deltas = deltas
	v, err := pebblestate.OpenView(ctx, pebblestate.Options{Dir: dir}, restore)
	if err != nil {
		return fail(err)
	}
	return v, nil
}

func (s *Savepoint) read(ctx context.Context, f checkpoint.File) ([]byte, error) {
	return s.Files.ReadVerified(ctx, f)
}
