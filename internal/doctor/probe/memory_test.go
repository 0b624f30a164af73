package probe

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheLeastLimitOfTheControlGroupsCounts(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no groups", nil, 0},
		{"version 2, none", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		{"version 2, own", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 1000},
		{"version 2, above", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/memory.max": "900\n"}, 900},
		{"version 1", map[string]string{"proc/self/cgroup": "4:cpu:/x\n3:cpuset,memory:/d\n", "sys/fs/cgroup/memory/d/memory.limit_in_bytes": "700\n"}, 700},
		{"version 1, none", map[string]string{"proc/self/cgroup": "3:memory:/d\n", "sys/fs/cgroup/memory/d/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
	} {
		root := t.TempDir()
		for name, text := range c.files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := groupLimit(root); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
