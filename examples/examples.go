// Package examples holds the jobs of this folder, for the commands that show them and the tests that run them.
package examples

import "embed"

// Files are the YAML jobs.
//
//go:embed *.yaml
var Files embed.FS
