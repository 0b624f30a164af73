// Package child says how processes that tests start are tied to the process that started them.
package child

import "syscall"

// EndWithParent makes the kernel kill the child when the process that started it ends, however that ends. A group of its
// own keeps the terminal's interrupt from it: the parent stops it in order.
func EndWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
