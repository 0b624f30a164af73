//go:build !unix

package demo

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func (p *process) terminate() error { return p.cmd.Process.Signal(os.Interrupt) }
