package pebblestate

import "errors"

var (
	// ErrCorrupt marks state that is not what was written: a file or a delta that does not match its hash or its form, or a
	// block that Pebble cannot read.
	ErrCorrupt = errors.New("state is corrupt")
	// ErrMismatch marks a state that the job declares in another way than the checkpoint has it.
	ErrMismatch = errors.New("restore does not fit")
	// ErrClosed is what calls after Close return.
	ErrClosed = errors.New("state backend is closed")
)
