//go:build !linux

// Package child says how processes that tests start are tied to the process that started them.
package child

import "syscall"

// EndWithParent gives the child a group of its own; only Linux can tie its life to its parent's.
func EndWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
