package pebblestate

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// fault is the first error that Pebble met in the background. Pebble itself would exit the process (Logger.Fatalf), or
// try again for ever (a flush on a full disk); here the error ends the attempt.
type fault struct {
	once   sync.Once
	failed chan struct{}
	err    error // set before failed is closed
	logger *slog.Logger
}

func newFault(logger *slog.Logger) *fault { return &fault{failed: make(chan struct{}), logger: logger} }

func (f *fault) fail(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.failed)
	})
}

// Err is the error, nil if there is none so far.
func (f *fault) Err() error {
	select {
	case <-f.failed:
		return f.err
	default:
		return nil
	}
}

// Infof implements pebble.Logger.
func (f *fault) Infof(format string, args ...any) {
	if f.logger.Enabled(context.Background(), slog.LevelDebug) {
		f.logger.Debug("pebble", "message", fmt.Sprintf(format, args...))
	}
}

// Errorf implements pebble.Logger.
func (f *fault) Errorf(format string, args ...any) {
	f.logger.Warn("pebble", "message", fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger: what Pebble cannot go on after. It returns; nothing is written after it, and the
// database is never read by a later attempt.
func (f *fault) Fatalf(format string, args ...any) {
	f.fail(fmt.Errorf("pebble: "+format, args...))
}

// listener turns Pebble's events into errors.
func (f *fault) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { f.fail(fmt.Errorf("pebble: %w", err)) },
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			f.fail(fmt.Errorf("%w: file %s: %w", ErrCorrupt, info.Path, info.Details))
		},
	}
}
