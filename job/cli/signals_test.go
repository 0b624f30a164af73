package cli

import (
	"log/slog"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// timeout(1) signals its child and then the child's process group: within a second it is one signal that comes more than once.
func TestASignalThatComesTwiceAtOnceIsOne(t *testing.T) {
	for _, c := range []struct {
		name string
		at   []time.Duration // since the first
		ends bool
	}{
		{"one", nil, false},
		{"twice at once", []time.Duration{0}, false},
		{"three times within a second", []time.Duration{10 * time.Millisecond, 999 * time.Millisecond}, false},
		{"a second later", []time.Duration{time.Second}, true},
		{"twice at once, and a minute later", []time.Duration{time.Millisecond, time.Minute}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals, done, ended := make(chan os.Signal), make(chan struct{}), make(chan os.Signal, 1)
				stops := 0
				go func() {
					ended <- watchSignals(signals, done, slog.New(slog.DiscardHandler), func() { stops++ })
				}()
				began := time.Now()
				signals <- syscall.SIGTERM
				synctest.Wait()
				for _, at := range c.at {
					time.Sleep(at - time.Since(began)) // the bubble's clock
					signals <- os.Interrupt
				}
				synctest.Wait()
				close(done)
				if s := <-ended; (s == os.Interrupt) != c.ends || s == nil == c.ends {
					t.Errorf("ended by %v, want an end: %t", s, c.ends)
				}
				if stops != 1 {
					t.Errorf("asked to stop %d times", stops)
				}
			})
		})
	}
}
