package runtime

import (
	"context"
	"sync"
)

// aside is what an attempt does beside its own goroutine while it recovers: it asks several things at once, since each question
// to a broker is a wait. What is asked so changes nothing, and the answers are judged in the order in which they always were.
type aside struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	closers []func()
}

func newAside(ctx context.Context) *aside {
	s := &aside{}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// close ends what is still being asked, and closes what was opened.
func (s *aside) close() {
	if s == nil {
		return
	}
	s.cancel()
	s.wg.Wait()
	for _, c := range s.closers {
		c()
	}
}

// do does something beside the attempt, at once if there is no aside. It is given up when its context ends, and waited for.
func (s *aside) do(something func(context.Context)) {
	if s == nil {
		something(context.Background())
		return
	}
	s.wg.Go(func() { something(s.ctx) })
}

// onClose lets something be closed with the attempt.
func (s *aside) onClose(c func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closers = append(s.closers, c)
}

// ask begins to ask, and returns what waits for the answer.
func ask[T any](s *aside, question func(context.Context) (T, error)) (answer func() (T, error)) {
	var t T
	var err error
	answered := make(chan struct{})
	s.wg.Go(func() {
		defer close(answered)
		t, err = question(s.ctx)
	})
	return func() (T, error) {
		<-answered
		return t, err
	}
}
