package broker

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Clock is an environment in which a node's clock is ahead of the machine's by d (behind, if it is negative), for
// Options.Env and SetEnv. Time that is measured, for timeouts, is not changed. It needs libfaketime (Debian: apt-get install
// faketime).
func Clock(d time.Duration) ([]string, error) {
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(found) == 0 {
		return nil, errors.New("no libfaketime on this machine (Debian: apt-get install faketime)")
	}
	return []string{
		"LD_PRELOAD=" + found[0],
		fmt.Sprintf("FAKETIME=%+ds", int64(d.Seconds())),
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
		// Else every timed wait of the JVM returns at once, and its threads spin.
		"FAKETIME_FORCE_MONOTONIC_FIX=0",
	}, nil
}
