package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

var (
	buildOnce sync.Mutex
	built     = map[string]string{}
	buildDir  string
)

// Build compiles a main package of this module, once a test process and set of build tags, and returns the program's path.
// RemoveBuilds removes what was built.
func Build(pkg string, tags ...string) (string, error) {
	buildOnce.Lock()
	defer buildOnce.Unlock()
	name := strings.Join(append([]string{filepath.Base(pkg)}, tags...), "-")
	if path := built[name]; path != "" {
		return path, nil
	}
	if buildDir == "" {
		dir, err := os.MkdirTemp("", "weir-programs-")
		if err != nil {
			return "", err
		}
		// A job is also run as another user.
		if err := os.Chmod(dir, 0o755); err != nil {
			return "", err
		}
		buildDir = dir
	}
	path := filepath.Join(buildDir, name)
	args := []string{"build", "-o", path, "-tags", strings.Join(tags, ",")}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, pkg)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, strings.TrimSpace(string(out)))
	}
	built[name] = path
	return path, nil
}

// RemoveBuilds removes the programs that Build made.
func RemoveBuilds() {
	buildOnce.Lock()
	defer buildOnce.Unlock()
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	buildDir, built = "", map[string]string{}
}
