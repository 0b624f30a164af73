package cli

import (
	"errors"
	"strings"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob"
)

// set changes values of a Go program's options by their paths, as --set of a YAML job does: "checkpoint.interval=1s". The
// steps of such a job are code, which no flag reaches.
func set(o *job.Options, assignments []string) error {
	for _, a := range assignments {
		for _, block := range []string{"source", "operators", "sink"} {
			if strings.HasPrefix(a, block+".") {
				return usagef("--set %s: the steps of this job are code: --set changes its job.Options only", a)
			}
		}
	}
	if err := yamljob.SetOptions(o, assignments); err != nil {
		return &usageError{errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return nil
}
