package checkpoint

import (
	"context"
	"errors"
	"io/fs"
)

// StoreError is a store that does not do what it is asked, with the cause and what helps, in one line without secrets. A file
// that is not there, or already is, is none.
type StoreError struct {
	// Doing is the call and the file, "" for the opening of the store.
	Doing string
	// Text is what is wrong and what to do about it.
	Text string
	// Permanent: trying again is of no use, somebody has to change something.
	Permanent bool
	Err       error
}

func (e *StoreError) Error() string {
	if e.Doing == "" {
		return e.Text
	}
	return e.Doing + ": " + e.Text
}

func (e *StoreError) Unwrap() error { return e.Err }

// IsStoreTrouble reports that a store could not be used or did not answer, as against a file that is not there or is damaged.
func IsStoreTrouble(err error) bool {
	return asStoreError(err) != nil || errors.Is(err, fs.ErrPermission) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)
}

func asStoreError(err error) *StoreError {
	var s *StoreError
	errors.As(err, &s)
	return s
}
