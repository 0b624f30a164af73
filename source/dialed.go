package source

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// dialed is a client that is connected before the one who needs it runs: a reader's, while the first checkpoint of an attempt
// is being committed. Nothing is asked by it.
type dialed struct {
	done   chan struct{}
	client *kgo.Client
	err    error
}

func dialAhead(ctx context.Context, dial Dial) *dialed {
	d := &dialed{done: make(chan struct{})}
	go func() {
		defer close(d.done)
		d.client, d.err = dial(ctx)
	}()
	return d
}

// connect returns a client for the reader, which closes it.
func (r *kafkaReader) connect(ctx context.Context) (*kgo.Client, error) {
	d, s := r.ahead, r.src
	if d == nil {
		return s.env.Dial(ctx)
	}
	r.ahead = nil
	select {
	case <-d.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx) // the source closes what comes of it
	}
	s.mu.Lock()
	mine := slices.Contains(s.waiting, d) // else the source is closed
	s.waiting = slices.DeleteFunc(s.waiting, func(w *dialed) bool { return w == d })
	s.mu.Unlock()
	if mine && d.err == nil {
		return d.client, nil
	}
	return s.env.Dial(ctx) // as if nothing had been tried
}
