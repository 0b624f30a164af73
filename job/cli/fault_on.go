//go:build faults

package cli

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/weirstream/weir/internal/fault"
)

// faultHook ends the process with SIGKILL at the step that $WEIR_FAULT names, STEP or STEP:N for the N-th time that it is
// taken. It is in builds for tests only.
func faultHook() (fault.Hook, error) {
	value := os.Getenv("WEIR_FAULT")
	if value == "" {
		return nil, nil
	}
	name, times, counted := strings.Cut(value, ":")
	at := int64(1)
	if counted {
		n, err := strconv.ParseInt(times, 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("WEIR_FAULT=%s: want STEP or STEP:N", value)
		}
		at = n
	}
	step := fault.Step(name)
	if !slices.Contains(fault.Steps(), step) {
		return nil, fmt.Errorf("WEIR_FAULT=%s: there is no step %s", value, step)
	}
	var taken atomic.Int64
	return func(s fault.Step) {
		if s == step && taken.Add(1) == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // nothing more happens on this goroutine until the signal has come
		}
	}, nil
}
