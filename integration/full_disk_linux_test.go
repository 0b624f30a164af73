//go:build integration

package integration

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

func TestFullDiskIsSaid(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a small file system: sudo -E make integration")
	}
	j := newSums(t, shared(t))
	state := filepath.Join(j.dir, "state")
	if err := os.Mkdir(state, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("needs the right to mount a small file system: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(state, syscall.MNT_DETACH) })
	// Every checkpoint needs a file, and the disk has room for a few.
	j.checkpoint = []string{"inline_threshold: 1", "restart: {strategy: none}", "tolerable_failures: 0"}
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 5000}, 5000)
	p := j.program(t).Start(t)
	if code := p.Exit(60 * time.Second); code != cli.ExitStorage {
		t.Errorf("exit code %d, want %d", code, cli.ExitStorage)
	}
	oneLine(t, p, "no space left on device")

	// With room again nothing is lost.
	if err := syscall.Mount("tmpfs", state, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	j.finish(t, feed, j.start(t))
}
