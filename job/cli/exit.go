package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/internal/web"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/source"
)

// The exit codes of every command. docs/operations.md documents them; a test compares.
const (
	// ExitOK: the job was stopped or has reached the end of its input; the command did what was asked.
	ExitOK = 0
	// ExitOther: anything without a code of its own; for a job, that its restart strategy gave up.
	ExitOther = 1
	// ExitUsage: the command line, the job file or an option is wrong. Nothing was started.
	ExitUsage = 2
	// ExitTakenOver: another process runs this job now. A supervisor should not start this one again.
	ExitTakenOver = checkpoint.ExitTakenOver
	// ExitBadRecord: a record or a result is bad and the policy is fail.
	ExitBadRecord = 4
	// ExitAuthentication: the brokers do not accept who the job is, or do not allow what it asks for.
	ExitAuthentication = 5
	// ExitUnreachable: no broker, or for a command that asks a running job, no job, answers.
	ExitUnreachable = 6
	// ExitMissingTopic: a topic does not exist.
	ExitMissingTopic = 7
	// ExitRestore: what is to be restored does not fit the job, is damaged, or a file of it is not there.
	ExitRestore = 8
	// ExitStorage: the checkpoint storage or the local directory cannot be used: not allowed, full, gone, another job's.
	ExitStorage = 9
	// ExitPortInUse: the HTTP address cannot be listened on.
	ExitPortInUse = 10
	// ExitDataLoss: records are gone that were not read yet.
	ExitDataLoss = 11
	// ExitFindings: doctor has found what would keep the job from running.
	ExitFindings = 13
	// ExitDifferent: verify: the output is not what the job computes.
	ExitDifferent = 14
	// ExitUndecided: verify: it cannot be told, since the output depends on more than the input, or the input's beginning is gone.
	ExitUndecided = 15
	// ExitSignal and the signal's number, as shells have it: a second SIGINT (130) or SIGTERM (143), a second after the first or later,
	// ended the process at once.
	ExitSignal = 128
)

// usageError is a mistake in how a command was called.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// invalid is what is wrong with a job or its options, one mistake a line.
type invalid struct{ err error }

func (e *invalid) Error() string { return e.err.Error() }
func (e *invalid) Unwrap() error { return e.err }

func isUsage(err error) bool { return as[*usageError](err) }

// ExitCode maps an error to the process's exit code: the first of these that applies.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitOK
	case as[*usageError](err), as[*invalid](err):
		return ExitUsage
	case as[*sickError](err):
		return ExitFindings
	case as[*checkpoint.TakenOverError](err):
		return ExitTakenOver
	case as[*runtime.BadRecordError](err):
		return ExitBadRecord
	case kafka.IsAuthentication(err), kafka.IsAuthorization(err):
		return ExitAuthentication
	case errors.Is(err, kafka.ErrNoTopic), as[*source.MissingTopicError](err):
		return ExitMissingTopic
	case as[*checkpoint.OwnedError](err):
		return ExitStorage
	case as[*checkpoint.RefusedError](err), as[*checkpoint.DamagedError](err), as[*source.RestoreError](err), as[*source.TopicRecreatedError](err),
		errors.Is(err, checkpoint.ErrCorrupt), errors.Is(err, pebblestate.ErrCorrupt), errors.Is(err, pebblestate.ErrMismatch):
		return ExitRestore
	case as[*source.OptionError](err), as[*runtime.OptionError](err):
		return ExitUsage
	case as[*job.VerifyDifferent](err):
		return ExitDifferent
	case as[*job.VerifyRefused](err):
		return ExitUndecided
	case as[*source.DataLossError](err):
		return ExitDataLoss
	case as[*web.ListenError](err):
		return ExitPortInUse
	case as[*kafka.ConnectError](err), as[*web.ConnectError](err):
		return ExitUnreachable
	case isMissingFile(err):
		return ExitRestore
	case isStorage(err):
		return ExitStorage
	case errors.Is(err, context.DeadlineExceeded):
		return ExitUnreachable
	}
	return ExitOther
}

// isMissingFile reports that a file of a checkpoint or savepoint is not there. The stores say so without a PathError, which
// stands for this machine's own files.
func isMissingFile(err error) bool { return errors.Is(err, fs.ErrNotExist) && !as[*fs.PathError](err) }

// isStorage reports whether a file or directory could not be used. Files that are read before a job is prepared (its YAML,
// a token) are usage errors already.
func isStorage(err error) bool {
	return as[*checkpoint.StoreError](err) || as[*fs.PathError](err) || as[*os.LinkError](err) || isFileError(err)
}

// remedy is what lets a job go on behind a bad record. Operators have no such policy: there the record has to be kept from
// them by a filter.
func (p *program) remedy(err error) string {
	var bad *runtime.BadRecordError
	switch {
	case !errors.As(err, &bad) || strings.HasPrefix(bad.Where, "operator "):
		return ""
	case p.graph != nil:
		return "; to go on without such records give the step job.OnBadRecord with skip or dead_letter"
	}
	return "; to go on without such records set on_bad_record of the step to skip or dead_letter"
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// lines are the messages of an error, one each: mistakes are reported together, everything else is one line.
func lines(err error) []string {
	if !as[*invalid](err) {
		return []string{strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")}
	}
	return strings.Split(strings.TrimSpace(err.Error()), "\n")
}
