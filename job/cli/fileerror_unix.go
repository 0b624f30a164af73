//go:build unix

package cli

import (
	"errors"
	"syscall"
)

// isFileError reports whether an error is one of files and directories: not allowed, full, read-only, broken, not there.
func isFileError(err error) bool {
	for _, e := range []error{
		syscall.EACCES, syscall.EPERM, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.ENOTDIR, syscall.ENOENT,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
