package harness

import (
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/child"
)

// Program is what a process runs.
type Program struct {
	Path string
	Args []string
	// Env is added to the test's own environment.
	Env []string
	// Dir is the working folder.
	Dir string
	// UID and GID, if not 0, are the user and group to run as; the test must be root.
	UID, GID uint32
}

// Process is a running program. It is killed when its test ends.
type Process struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdout output
	stderr output
	ended  chan struct{}
	killed atomic.Bool // by Kill: how it ended says nothing
}

// Start starts a program. If the test fails, the end of what the process printed is logged, unless it was killed before.
func (p Program) Start(t testing.TB) *Process {
	t.Helper()
	proc := &Process{t: t, cmd: exec.Command(p.Path, p.Args...), ended: make(chan struct{})}
	proc.cmd.Stdout, proc.cmd.Stderr = &proc.stdout, &proc.stderr
	proc.cmd.Env = append(os.Environ(), p.Env...)
	proc.cmd.Dir = p.Dir
	proc.cmd.SysProcAttr = child.EndWithParent()
	if p.UID != 0 {
		proc.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: p.UID, Gid: p.GID}
	}
	if err := proc.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", p.Path, err)
	}
	go func() {
		proc.cmd.Wait()
		close(proc.ended)
	}()
	t.Cleanup(func() {
		quiet := proc.killed.Load()
		proc.Kill()
		if t.Failed() && !quiet {
			t.Logf("%s: %s\n%s", proc, proc.cmd.ProcessState, tail(proc.Output(), 30))
		}
	})
	return proc
}

// String is the command line.
func (p *Process) String() string { return strings.Join(p.cmd.Args, " ") }

// PID is the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the process with SIGKILL and waits until it is gone. It may be called again.
func (p *Process) Kill() {
	if p.Running() {
		p.killed.Store(true)
	}
	p.cmd.Process.Kill()
	<-p.ended
}

// Terminate asks the process to end (SIGTERM). It does not wait.
func (p *Process) Terminate() { p.cmd.Process.Signal(syscall.SIGTERM) }

// Freeze stops the process without ending it (SIGSTOP); Thaw lets it go on.
func (p *Process) Freeze() { p.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (p *Process) Thaw() { p.cmd.Process.Signal(syscall.SIGCONT) }

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Exit waits until the process has ended by itself and returns its exit code, -1 if a signal ended it. It fails the test
// if that takes longer.
func (p *Process) Exit(within time.Duration) int {
	p.t.Helper()
	if !p.Running() {
		return p.cmd.ProcessState.ExitCode()
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-timer.C:
		p.t.Fatalf("%s: still runs after %s", p, within)
		return -1
	}
}

// Output is what the process has printed so far, standard output before standard error.
func (p *Process) Output() string { return p.stdout.String() + p.stderr.String() }

// Stdout is what the process has printed so far to standard output.
func (p *Process) Stdout() string { return p.stdout.String() }

// Stderr is what the process has printed so far to standard error.
func (p *Process) Stderr() string { return p.stderr.String() }
