package compose

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

// Project is docker-compose.yml with names, networks and volumes of its own. It is removed when its test ends.
type Project struct {
	t       testing.TB
	name    string
	command []string
	// Dir has copies of docker-compose.yml and of examples/, to be changed.
	Dir string
}

// New copies docker-compose.yml and the examples of the source at root.
func New(t testing.TB, root string) *Project {
	t.Helper()
	for _, port := range []string{"8080", "9094"} { // those of docker-compose.yml
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Skipf("docker-compose.yml needs port %s: %v", port, err)
		}
		_ = l.Close()
	}
	p := &Project{t: t, name: harness.Name("weir"), command: Command(), Dir: t.TempDir()}
	// Other users read them.
	if err := os.Chmod(p.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(p.Dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(p.Dir, "docker-compose.yml"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := p.Try(30*time.Second, "logs", "--no-color", "--tail", "20", "processor")
			t.Log(out)
		}
		if out, err := p.Try(2*time.Minute, "down", "--volumes", "--remove-orphans"); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	return p
}

// Try runs docker-compose and returns what it prints.
func (p *Project) Try(within time.Duration, args ...string) (string, error) {
	all := append(append([]string{}, p.command...), "-p", p.name)
	all = append(all, args...)
	return run(within, p.Dir, all[0], all[1:]...)
}

// Do runs docker-compose, and ends the test if that fails.
func (p *Project) Do(args ...string) string {
	p.t.Helper()
	out, err := p.Try(3*time.Minute, args...)
	if err != nil {
		p.t.Fatalf("docker-compose %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Exec runs the program inside the container of the job, and ends the test if that fails.
func (p *Project) Exec(args ...string) string {
	p.t.Helper()
	return p.Do(append([]string{"exec", "-T", "processor", "/processor"}, args...)...)
}

// Beside runs the program in a container of its own, with what the job's has, and ends the test if that fails. It outlives
// the job's.
func (p *Project) Beside(args ...string) string {
	p.t.Helper()
	return p.Do(append([]string{"run", "--rm", "--no-deps", "-T", "processor"}, args...)...)
}

// KillJob is docker kill -s KILL of the job's container: not docker-compose's own way to end it.
func (p *Project) KillJob() {
	p.t.Helper()
	id := strings.Fields(p.Do("ps", "-q", "processor"))
	if len(id) != 1 {
		p.t.Fatalf("containers of the job: %q", id)
	}
	if out, err := run(time.Minute, p.Dir, "docker", "kill", "-s", "KILL", id[0]); err != nil {
		p.t.Fatalf("docker kill: %v\n%s", err, out)
	}
}

// Edit replaces a piece of a file of the project, which must be there once.
func (p *Project) Edit(file, old, new string) {
	p.t.Helper()
	path := filepath.Join(p.Dir, file)
	text, err := os.ReadFile(path)
	if n := strings.Count(string(text), old); err == nil && n != 1 {
		err = fmt.Errorf("%q is %d times in it", old, n)
	}
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644)
	}
	if err != nil {
		p.t.Fatalf("%s: %v", file, err)
	}
}

// Root is the folder of the source: that of go.mod.
func Root(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}
