//go:build !unix

package web

func inWords(err error) string { return err.Error() }
