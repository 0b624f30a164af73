//go:build unix

package demo

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a child out of the terminal's signals: Ctrl-C is for the demonstration, which then ends its children.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks a child to end.
func (p *process) terminate() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
