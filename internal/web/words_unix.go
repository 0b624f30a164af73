//go:build unix

package web

import (
	"errors"
	"syscall"
)

// inWords says what an error of listening means.
func inWords(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "another program listens there already: choose another one with --address, or none with --address off"
	case errors.Is(err, syscall.EACCES):
		return "not allowed: ports below 1024 are for root"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "it is not an address of this machine"
	}
	return err.Error()
}
