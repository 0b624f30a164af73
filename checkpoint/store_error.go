package checkpoint

import "errors"

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

func asStoreError(err error) *StoreError {
	var s *StoreError
	errors.As(err, &s)
	return s
}
