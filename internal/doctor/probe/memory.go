package probe

import (
	"context"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/weirstream/weir/internal/doctor"
)

// checkMemory reads the limits of this process, so it says something about the job only where the job will run: in the same
// container, with the same environment.
func (e *examination) checkMemory(context.Context) []doctor.Finding {
	buffered := e.config.Producer.MaxBuffered
	if buffered == 0 {
		buffered = 64 << 20
	}
	return doctor.Memory(limits("/"), &e.config.Checkpoint, buffered)
}

// limits reads what Linux tells below root; elsewhere nothing is known but GOMEMLIMIT.
func limits(root string) doctor.MemoryLimits {
	m := doctor.MemoryLimits{Go: debug.SetMemoryLimit(-1)}
	text, _ := os.ReadFile(path.Join(root, "proc/meminfo"))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			m.Machine = kib << 10
		}
	}
	m.Group = groupLimit(root)
	return m
}

// groupLimit is the least memory limit of this process's control group and those above it, 0 if there is none.
func groupLimit(root string) int64 {
	least := int64(math.MaxInt64)
	take := func(file string) {
		text, err := os.ReadFile(path.Join(root, file))
		if err != nil {
			return
		}
		// "max" is no number; version 1 says a number near the largest.
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			least = min(least, n)
		}
	}
	text, _ := os.ReadFile(path.Join(root, "proc/self/cgroup"))
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		switch {
		case f[0] == "0" && f[1] == "":
			for group := path.Clean("/" + f[2]); ; group = path.Dir(group) {
				take(path.Join("sys/fs/cgroup", group, "memory.max"))
				if group == "/" {
					break
				}
			}
		case strings.Contains(","+f[1]+",", ",memory,"):
			take(path.Join("sys/fs/cgroup/memory", f[2], "memory.limit_in_bytes"))
			take("sys/fs/cgroup/memory/memory.limit_in_bytes")
		}
	}
	if least >= math.MaxInt64>>1 {
		return 0
	}
	return least
}
