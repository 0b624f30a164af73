package job

import (
	"context"
	"errors"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/internal/verify"
)

// VerifyOptions say what [Verify] verifies, and with what.
type VerifyOptions = verify.Options

// VerifyReport is the outcome of [Verify]; its Err is nil if the output is what the plain loop computes.
type VerifyReport = verify.Report

// VerifyProgress is how far a verification has come.
type VerifyProgress = verify.Progress

// VerifyFinding is one record of the output that is not as it should be.
type VerifyFinding = verify.Finding

// VerifyRefused says why a job cannot be verified: an operator whose results depend on more than the input, or an input
// whose beginning is gone.
type VerifyRefused = verify.Refused

// VerifyDifferent is the error of a report with findings.
type VerifyDifferent = verify.DifferentError

// Verify computes a job once more, with a plain loop over the input up to its last checkpoint, and compares the result
// with what a read_committed reader sees of its output. The job may run meanwhile. Nothing is written but temporary files
// on this machine. docs/verify.md says what can be verified.
//
// An error says that the job could not be verified (a [*VerifyRefused], or what kept it from being read); what differs is
// in the report and its Err.
func Verify(ctx context.Context, g *Graph, o Options, v VerifyOptions) (*VerifyReport, error) {
	o.EnsureDefaults()
	if err := errors.Join(g.Validate(), o.Validate()); err != nil {
		return nil, err
	}
	return verify.Run(ctx, verify.Job{
		Name: g.name, Graph: &runtime.Graph{Nodes: g.nodes}, Parallelism: o.Parallelism, Kafka: o.Kafka, Checkpoint: o.Checkpoint,
	}, v)
}
