//go:build integration && linux

package integration

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

// mountDisk mounts a small file system at a folder, which it makes.
func mountDisk(t *testing.T, dir, options string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a small file system: sudo -E make integration")
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("needs the right to mount a small file system: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}

func remount(t *testing.T, dir string, flags uintptr, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
		t.Fatalf("remount %s %s: %v", dir, options, err)
	}
}

// The disk of storage and local directory is full again and again, a little later in the life of a checkpoint or base each
// time. The job says so, tries again, and goes on by itself when there is room.
func TestAJobGoesOnWhenAFullDiskHasRoomAgain(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	j.dir = filepath.Join(j.dir, "disk")
	disk := j.dir
	mountDisk(t, disk, "size=64m")
	j.checkpoint = []string{
		"inline_threshold: 1", "base_after: 100KiB", "restart: {strategy: exponential_delay, initial_backoff: 20ms, max_backoff: 500ms}",
		"tolerable_failures: 1000",
	}
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 3000}, 3000)
	p := j.start(t)
	j.waitForMore(t, 500)
	for _, room := range []uint64{0, 16, 64, 150} {
		said := strings.Count(p.Stderr(), "no space left on device")
		least := uint64(math.MaxUint64)
		harness.Until(t, 60*time.Second, "a word of the full disk", func() (bool, string) {
			if !p.Running() {
				t.Fatalf("the job ended with exit code %d:\n%s", p.Exit(0), p.Output())
			}
			// What is used comes and goes: the room is what there is beyond the least of it.
			var st syscall.Statfs_t
			if err := syscall.Statfs(disk, &st); err != nil {
				t.Fatal(err)
			}
			used := (st.Blocks - st.Bfree) * uint64(st.Bsize)
			// It is refused if what is used has grown meanwhile.
			if used < least && syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", used+room<<10)) == nil {
				least = used
			}
			return strings.Count(p.Stderr(), "no space left on device") > said, p.Stderr()
		})
		remount(t, disk, 0, "size=64m")
		j.waitForMore(t, 500)
	}
	j.finish(t, feed, p)
}

// A storage that becomes read-only ends the job with its cause, a start on it is refused before it fences anybody, and
// nothing is lost.
func TestReadOnlyStorageIsSaid(t *testing.T) {
	t.Parallel()
	j := newSums(t, shared(t))
	state := filepath.Join(j.dir, "state")
	mountDisk(t, state, "size=64m")
	j.checkpoint = []string{"inline_threshold: 1", "restart: {strategy: none}", "tolerable_failures: 0"}
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 500}, 1000)
	p := j.start(t)
	j.waitForMore(t, 500)
	// A file that is open for writing keeps the mount writable; the job has one for a moment at each checkpoint.
	harness.Until(t, 30*time.Second, "a read-only mount", func() (bool, string) {
		err := syscall.Mount("tmpfs", state, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=64m")
		return err == nil, fmt.Sprint(err)
	})
	if code := p.Exit(60 * time.Second); code != cli.ExitStorage {
		t.Errorf("exit code %d, want %d", code, cli.ExitStorage)
	}
	oneLine(t, p, "read-only file system")
	j.refused(t, j.program(t), cli.ExitStorage, state, "cannot be written: read-only file system")
	// Not by their number: the marker of the last one may come a moment after its commit is answered.
	for _, c := range j.cluster.Pointers(t, j.checkpointTopic())[1:] {
		if c.First {
			t.Errorf("a start that was refused has committed checkpoint %d", c.Checkpoint)
		}
	}
	remount(t, state, 0, "size=64m")
	j.finish(t, feed, j.start(t))
}
