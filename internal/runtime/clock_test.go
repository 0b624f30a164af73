package runtime

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/checkpoint"
)

// The file system's clock says how old a working directory is, and not the engine's: one that another process has just made
// stays, and one that a process uses stays however old it is.
func TestWorkingDirectoriesInUseStayWhateverTheClockSays(t *testing.T) {
	dir := t.TempDir()
	attempts := filepath.Join(dir, "job", "0", "attempts")
	used, unused, new := filepath.Join(attempts, "used"), filepath.Join(attempts, "unused"), filepath.Join(attempts, "new")
	for _, d := range []string{used, unused, new} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := pebble.LockDirectory(used, vfs.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	old := time.Now().Add(-time.Hour)
	for _, d := range []string{used, unused} {
		if err := os.Chtimes(d, old, old); err != nil {
			t.Fatal(err)
		}
	}
	a := &attempt{
		id: "next", logger: slog.New(slog.DiscardHandler),
		cfg: &Config{Job: "job", Checkpoint: checkpoint.Options{LocalDir: dir}},
		now: func() int64 { return time.Now().Add(time.Hour).UnixMilli() },
	}
	if _, err := a.stateOptions(); err != nil {
		t.Fatal(err)
	}
	for d, stays := range map[string]bool{used: true, unused: false, new: true} {
		if _, err := os.Stat(d); (err == nil) != stays {
			t.Errorf("%s: %v, to stay: %t", filepath.Base(d), err, stays)
		}
	}
}
