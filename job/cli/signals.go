package cli

import (
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// stopOnSignal calls stop at the first SIGINT or SIGTERM and ends the process at one that comes a second later or more, with 128
// and the signal's number as shells do. The function that it returns ends the watch.
func stopOnSignal(logger *slog.Logger, stop func()) (end func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if s := watchSignals(signals, done, logger, stop); s != nil {
			logger.Warn("stopped at once: no last checkpoint", "signal", s.String())
			os.Exit(ExitSignal + signalNumber(s))
		}
	})
	return func() {
		signal.Stop(signals)
		close(done)
		wg.Wait()
	}
}

// sameSignal is how long after the first signal another one is taken for the same: timeout(1) signals its child and then the
// process group that the child is in, and a shell's Ctrl-C may come by way of a parent too.
const sameSignal = time.Second

// watchSignals calls stop at the first signal, and returns the one that is to end the process at once, nil when done is closed.
func watchSignals(signals <-chan os.Signal, done <-chan struct{}, logger *slog.Logger, stop func()) os.Signal {
	var first time.Time
	for {
		select {
		case s := <-signals:
			switch {
			case first.IsZero():
				first = time.Now()
				logger.Info("stopping: a last checkpoint, then the end", "signal", s.String())
				stop()
			case time.Since(first) >= sameSignal:
				return s
			}
		case <-done:
			return nil
		}
	}
}

func signalNumber(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return 0
}
