//go:build integration

package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weirstream/weir/integration/harness"
)

// loseRecords ends the node, removes what it keeps of one of its own topics, as if the disk had been cleaned by mistake, and
// starts it again.
func loseRecords(t *testing.T, cluster *harness.Cluster, topic string) {
	t.Helper()
	cluster.Node.Kill()
	folders, err := filepath.Glob(filepath.Join(cluster.Node.Data(), topic+"-*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no partition of %s: %v", topic, err)
	}
	for _, folder := range folders {
		files, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.Name() == "partition.metadata" {
				continue // which topic this is
			}
			if err := os.Remove(filepath.Join(folder, f.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	restart(t, cluster, cluster.Node)
	warm(t, cluster)
}

// The offsets of the group are for people, and a check on the checkpoint topic: without them the pointer still says all.
func offsetsAreLost(t *testing.T, cluster *harness.Cluster) {
	j := newFaultySums(t, cluster)
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 1000)
	p := j.start(t, shortRequests...)
	j.waitForMore(t, 500)
	loseRecords(t, cluster, "__consumer_offsets")
	j.waitForMore(t, 500)
	j.stop(t, p)
	loseRecords(t, cluster, "__consumer_offsets")
	j.finish(t, feed, j.start(t, shortRequests...))
}
