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

// Whatever the clock says, the working directory of a process that runs stays; that of one that is gone is removed once
// it looks old.
func TestWorkingDirectoriesInUseStayWhateverTheClockSays(t *testing.T) {
	for _, c := range []struct {
		name string
		step time.Duration
		gone bool
	}{
		{"an hour ahead", time.Hour, true},
		{"right", 0, false}, // it is less than a minute old
		{"an hour behind", -time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			attempts := filepath.Join(dir, "job", "0", "attempts")
			used, unused := filepath.Join(attempts, "used"), filepath.Join(attempts, "unused")
			for _, d := range []string{used, unused} {
				if err := os.MkdirAll(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			lock, err := pebble.LockDirectory(used, vfs.Default)
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			a := &attempt{
				id: "new", logger: slog.New(slog.DiscardHandler),
				cfg: &Config{Job: "job", Checkpoint: checkpoint.Options{LocalDir: dir}},
				now: func() int64 { return time.Now().Add(c.step).UnixMilli() },
			}
			if _, err := a.stateOptions(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(used); err != nil {
				t.Errorf("the directory in use: %v", err)
			}
			if _, err := os.Stat(unused); os.IsNotExist(err) != c.gone {
				t.Errorf("the directory that nobody uses: %v", err)
			}
		})
	}
}
