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

// take waits until it is connected, or that has failed. It is called once, by who has taken it from the source's list.
func (d *dialed) take() (*kgo.Client, error) {
	<-d.done // a dial ends by itself
	return d.client, d.err
}

// connect returns a client for the reader, which closes it.
func (r *kafkaReader) connect(ctx context.Context) (*kgo.Client, error) {
	if d := r.ahead; d != nil {
		r.ahead = nil
		s := r.src
		s.mu.Lock()
		mine := slices.Contains(s.waiting, d) // else the source is closed
		s.waiting = slices.DeleteFunc(s.waiting, func(w *dialed) bool { return w == d })
		s.mu.Unlock()
		if mine {
			if client, err := d.take(); err == nil {
				return client, nil
			}
		}
	}
	return r.src.env.Dial(ctx) // as if nothing had been tried
}
