//go:build integration

package integration

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

// processor is the path of the program under test.
var processor string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer harness.RemoveBuilds()
	defer closeShared()
	if processor = os.Getenv("WEIR_PROCESSOR"); processor == "" {
		var err error
		if processor, err = harness.Build("github.com/weirstream/weir/cmd/processor"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

var (
	sharedMu      sync.Mutex
	sharedCluster *harness.Cluster
	sharedErr     error
)

// shared returns the cluster of the scenarios that need nothing special of it, started for the first of them.
func shared(t *testing.T) *harness.Cluster {
	t.Helper()
	sharedMu.Lock()
	defer sharedMu.Unlock()
	if sharedCluster == nil && sharedErr == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		sharedCluster, sharedErr = harness.Shared(ctx)
	}
	if sharedErr != nil {
		t.Fatal(sharedErr)
	}
	return sharedCluster
}

func closeShared() {
	if sharedCluster != nil {
		sharedCluster.Close()
	}
}
