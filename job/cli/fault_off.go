//go:build !faults

package cli

import "github.com/weirstream/weir/internal/fault"

// faultHook is nil: a process ends at a chosen step only in builds for tests.
func faultHook() (fault.Hook, error) { return nil, nil }
