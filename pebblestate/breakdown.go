package pebblestate

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// breakdown is the first error that Pebble met in the background. Pebble itself would exit the process (Logger.Fatalf), or
// try again for ever (a flush on a full disk); here the error ends the attempt.
type breakdown struct {
	once   sync.Once
	failed chan struct{}
	err    error // set before failed is closed
	logger *slog.Logger
}

func newBreakdown(logger *slog.Logger) *breakdown {
	return &breakdown{failed: make(chan struct{}), logger: logger}
}

func (f *breakdown) fail(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.failed)
	})
}

// Err is the error, nil if there is none so far.
func (f *breakdown) Err() error {
	select {
	case <-f.failed:
		return f.err
	default:
		return nil
	}
}

// Infof implements pebble.Logger.
func (f *breakdown) Infof(format string, args ...any) {
	if f.logger.Enabled(context.Background(), slog.LevelDebug) {
		f.logger.Debug("pebble", "message", fmt.Sprintf(format, args...))
	}
}

// Errorf implements pebble.Logger.
func (f *breakdown) Errorf(format string, args ...any) {
	f.logger.Warn("pebble", "message", fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger: what Pebble cannot go on after. It returns; nothing is written after it, and the
// database is never read by a later attempt.
func (f *breakdown) Fatalf(format string, args ...any) {
	said := fatal{text: "pebble: " + fmt.Sprintf(format, args...)}
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			said.err = err
		}
	}
	f.fail(said)
}

// fatal is what Pebble said, and the error that it said it of: a full disk is told from other ends by it.
type fatal struct {
	text string
	err  error
}

func (e fatal) Error() string { return e.text }
func (e fatal) Unwrap() error { return e.err }

// listener turns Pebble's events into errors.
func (f *breakdown) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { f.fail(fmt.Errorf("pebble: %w", err)) },
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			f.fail(fmt.Errorf("%w: file %s: %w", ErrCorrupt, info.Path, info.Details))
		},
	}
}
