package sink

import (
	"testing"

	"go.uber.org/goleak"
)

// Nothing that an attempt started outlives it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
