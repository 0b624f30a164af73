package cli

import (
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// stopOnSignal calls stop at the first SIGINT or SIGTERM and ends the process at the second, with 128 and the signal's
// number as shells do. The function that it returns ends the watch.
func stopOnSignal(logger *slog.Logger, stop func()) (end func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for first := true; ; first = false {
			select {
			case s := <-signals:
				if !first {
					logger.Warn("stopped at once: no last checkpoint", "signal", s.String())
					os.Exit(ExitSignal + signalNumber(s))
				}
				logger.Info("stopping: a last checkpoint, then the end", "signal", s.String())
				stop()
			case <-done:
				return
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(done)
		wg.Wait()
	}
}

func signalNumber(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return 0
}
