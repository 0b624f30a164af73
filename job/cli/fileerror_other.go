//go:build !unix

package cli

func isFileError(error) bool { return false }
