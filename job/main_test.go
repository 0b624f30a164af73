package job_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Pebble's Open leaves its scheduler behind when it fails (TestAnyFileOperationMayFail); a Close that is missing shows by
	// its other goroutines.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/cockroachdb/pebble/v2.(*ConcurrencyLimitScheduler).periodicGranter"))
}
