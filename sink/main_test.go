package sink

import (
	"testing"

	"go.uber.org/goleak"
)

// Nothing that an attempt started outlives it.
func TestMain(m *testing.M) {
	// kfake: a request that a control function lets sleep while the cluster closes can leave its loop waiting for a lock.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*Cluster).run"))
}
