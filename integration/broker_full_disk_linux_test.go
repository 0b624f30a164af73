//go:build integration

package integration

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
)

// A broker whose disk is full ends. With room again, and started again, nothing is lost.
func TestBrokerMayRunOutOfDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a small file system: sudo -E make integration")
	}
	data := t.TempDir()
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, "size=96m"); err != nil {
		t.Skipf("needs the right to mount a small file system: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(data, syscall.MNT_DETACH) })
	cluster := harness.NewCluster(t, broker.Options{Properties: shortBroker, Light: true, Data: filepath.Join(data, "logs")})
	warm(t, cluster)
	j := newFaultySums(t, cluster)
	feed := cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 2000)
	p := j.start(t, shortRequests...)
	j.waitForMore(t, 500)

	filler := filepath.Join(data, "filler")
	fill(t, filler)
	select {
	case <-cluster.Node.Ended():
	case <-time.After(time.Minute):
		// Whatever it still does, an operator would end it.
		t.Log("the broker still runs a minute after its disk is full")
		cluster.Node.Kill()
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	restart(t, cluster, cluster.Node)
	j.waitForMore(t, 500)
	j.finish(t, feed, p)
}

// fill writes a file until there is no room left.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zeros, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zeros.Close()
	if _, err := io.Copy(f, zeros); err == nil {
		t.Fatal("the disk has no end")
	}
}
