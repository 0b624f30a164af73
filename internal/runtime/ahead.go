package runtime

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/pebblestate"
)

// ahead is the state of what seems to be the last checkpoint, read and opened while the attempt still connects, fences and
// asks for what is the last one: that is most of what a recovery waits for otherwise.
//
// Nothing is decided by it. Files of a checkpoint never change and are verified by hash, so it does not matter when they are
// read; what is opened is a working directory of this attempt's own. Only if the pointer that is decided on after the fencing
// (rule 5) is the same, in all that it says, the state is taken; if not, it is thrown away and opened anew.
type ahead struct {
	of     *checkpoint.Pointer // nil for no state
	cancel context.CancelFunc
	// mayOpen is closed when nothing stands against the start any more: a start that is refused makes no directory.
	mayOpen chan struct{}
	// done is closed when what follows is set.
	done    chan struct{}
	dir     string
	deltas  []pebblestate.Delta
	backend *pebblestate.Backend
	err     error
	taken   bool
}

// readAhead begins to read the state of a pointer, nil for none. On one core that would only keep the questions to the brokers
// from being asked.
func (a *attempt) readAhead(p *checkpoint.Pointer) {
	if a.ahead != nil || !a.stateful(p) || runtime.GOMAXPROCS(0) == 1 {
		return
	}
	ctx, cancel := context.WithCancel(a.ctx)
	h := &ahead{of: p, cancel: cancel, mayOpen: make(chan struct{}), done: make(chan struct{})}
	a.ahead = h
	a.closers = append(a.closers, func() { h.drop() })
	go func() {
		defer close(h.done)
		h.err = a.openAhead(ctx, h)
	}()
}

func (a *attempt) openAhead(ctx context.Context, h *ahead) error {
	var restore pebblestate.Restore
	var err error
	laps := laps{last: time.Now()}
	if h.of != nil {
		at := max(1, runtime.GOMAXPROCS(0)-1) // hashing needs a core
		if checkpoint.IsURL(a.cfg.Checkpoint.Storage) {
			at = readers
		}
		if restore, err = a.readState(ctx, h.of, a.files, at); err != nil {
			return err
		}
		h.deltas = restore.Deltas
		laps.end("read")
	}
	select {
	case <-h.mayOpen:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	laps.end("allowed")
	opts, err := a.stateOptions()
	if err != nil {
		return err
	}
	h.dir, restore.Beside = opts.Dir, true
	if h.backend, err = pebblestate.Open(ctx, opts, restore); err != nil && h.of != nil {
		return fmt.Errorf("restore: checkpoint %d: %w", h.of.Checkpoint, err)
	} else if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	laps.end("open")
	size := int64(0)
	for i := range restore.Deltas {
		size += int64(len(restore.Deltas[i].Repr))
	}
	a.logger.Debug("state opened", append(laps.took, "base_files", len(restore.Base), "deltas", len(restore.Deltas), "delta_bytes", size)...)
	return nil
}

// allow lets the state be opened.
func (h *ahead) allow() {
	if h != nil {
		close(h.mayOpen)
	}
}

// takeAhead takes the state that was opened ahead, if it is that of the pointer. An error that was there before is nobody's: it
// is tried again.
func (a *attempt) takeAhead(ctx context.Context, from *checkpoint.Pointer) (taken bool, err error) {
	h := a.ahead
	if h == nil || !reflect.DeepEqual(h.of, from) {
		return false, nil
	}
	select {
	case <-h.done:
		if h.err != nil {
			return false, nil
		}
	default:
		select {
		case <-h.done:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
		if h.err != nil {
			return false, h.err
		}
	}
	h.taken, h.of, h.deltas = true, nil, nil // the backend has them, and gives them back
	a.useState(h.backend, h.dir)
	return true, nil
}

// drop ends what is done ahead, and removes what nobody has taken. It may be repeated. A full disk may keep Pebble opening, and
// the directory locked, for longer than that.
func (h *ahead) drop() {
	if h == nil {
		return
	}
	h.cancel()
	<-h.done
	if h.backend != nil && !h.taken {
		_ = h.backend.Close() // nothing of it is needed
	}
	if h.dir != "" && !h.taken {
		_ = os.RemoveAll(h.dir)
	}
	h.backend = nil
}

// readBefore are the deltas that were read ahead, by hash: of a checkpoint that was not the last after all, the one that was has
// most.
func (h *ahead) readBefore() map[checkpoint.Hash][]byte {
	if h == nil || h.deltas == nil {
		return nil
	}
	read := map[checkpoint.Hash][]byte{}
	for i, d := range h.of.Deltas {
		read[d.Hash] = h.deltas[i].Repr
	}
	return read
}
