package gateway

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weirstream/weir/integration/broker"
)

// Version is the versitygw that scenarios run on. Those before 1.8.0 decide on a conditional Put in two steps, so that two
// writers may both succeed.
const Version = "v1.8.0"

var building sync.Mutex

// Build returns the program of the server. If it is not in the cache folder, `go install` builds it there, once; its
// dependencies are none of this module's.
func Build(ctx context.Context) (string, error) {
	building.Lock()
	defer building.Unlock()
	cache, err := broker.Dir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "versitygw-"+Version)
	program := filepath.Join(dir, "versitygw")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(cache, "versitygw-"+Version+".part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "install", "github.com/versity/versitygw/cmd/versitygw@"+Version)
	cmd.Dir = work // not in this module
	cmd.Env = append(os.Environ(), "GOBIN="+work, "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(work, dir); err != nil {
		if _, there := os.Stat(program); there != nil {
			return "", err
		}
	}
	return program, nil
}
