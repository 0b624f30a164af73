// Package cli is the commands that a job is run and looked after with: run, validate, savepoint, checkpoints and the rest,
// one file each. The program processor has them for jobs in YAML files ([Main]); a Go program has them for a job of its
// own with one call ([MainFor]).
//
// A command gathers what it needs, calls the package that does the work, and prints. What ends a process is decided in
// one place, exit.go: every error becomes one line on standard error and one of the exit codes listed there, which
// docs/operations.md documents.
package cli
