package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/internal/web"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/source"
)

func TestEachErrorHasItsExitCode(t *testing.T) {
	refused := &kafka.ConnectError{Address: "b:9092", Reason: "connection refused", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing", nil, ExitOK},
		{"unknown", errors.New("x"), ExitOther},
		{"usage", usagef("x"), ExitUsage},
		{"mistakes in a job", &invalid{errors.Join(errors.New("a"), errors.New("b"))}, ExitUsage},
		{"a job file that is not there", &invalid{&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}}, ExitUsage},
		{"taken over", &checkpoint.TakenOverError{Job: "j"}, ExitTakenOver},
		{"bad record", &runtime.BadRecordError{Err: errors.New("x")}, ExitBadRecord},
		{"wrong password", &kafka.ConnectError{Err: kerr.SaslAuthenticationFailed}, ExitAuthentication},
		{"not allowed", kerr.TopicAuthorizationFailed, ExitAuthentication},
		{"unreachable", refused, ExitUnreachable},
		{"no job answers", &web.ConnectError{Err: syscall.ECONNREFUSED}, ExitUnreachable},
		{"missing topic", &source.MissingTopicError{Topic: "t"}, ExitMissingTopic},
		{"missing sink topic", &kafka.TopicError{Topic: "t", Err: kafka.ErrNoTopic}, ExitMissingTopic},
		{"recreated topic", &source.TopicRecreatedError{Topic: "t"}, ExitRestore},
		{"does not fit", &checkpoint.RefusedError{What: "checkpoint 1"}, ExitRestore},
		{"split does not fit", &source.RestoreError{Topic: "t"}, ExitRestore},
		{"damaged", fmt.Errorf("x: %w", checkpoint.ErrCorrupt), ExitRestore},
		{"state does not fit", fmt.Errorf("x: %w", pebblestate.ErrMismatch), ExitRestore},
		{"state damaged", fmt.Errorf("x: %w", pebblestate.ErrCorrupt), ExitRestore},
		{"a file of a savepoint is not there", fmt.Errorf("savepoint x: reading /s/a.base: %w", syscall.ENOENT), ExitRestore},
		{"an object of a checkpoint is not there", fmt.Errorf("reading s3://b/a.base: %w", fs.ErrNotExist), ExitRestore},
		{"a bucket whose keys are refused", fmt.Errorf("storage s3://b: %w", &checkpoint.StoreError{Text: "x", Err: syscall.ECONNREFUSED}), ExitStorage},
		{"the storage is another job's", &checkpoint.OwnedError{Asks: &checkpoint.Owner{}, Err: checkpoint.ErrCorrupt}, ExitStorage},
		{"the local directory is not there", &fs.PathError{Op: "open", Path: "/l/x", Err: syscall.ENOENT}, ExitStorage},
		{"start offset out of range", &source.OptionError{Option: "start_offsets"}, ExitUsage},
		{"an option that does not fit the broker", &runtime.OptionError{Err: errors.New("x")}, ExitUsage},
		{"data loss", &source.DataLossError{Topic: "t"}, ExitDataLoss},
		{"not writable", fmt.Errorf("storage /x: cannot be written: %w", syscall.EACCES), ExitStorage},
		{"disk full", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, ExitStorage},
		{"port in use", &web.ListenError{Address: ":80", Err: syscall.EADDRINUSE}, ExitPortInUse},
		{"port not allowed", &web.ListenError{Address: ":80", Err: syscall.EACCES}, ExitPortInUse},
		{"no answer in time", context.DeadlineExceeded, ExitUnreachable},
		{"not healthy hides why", &unhealthy{refused}, ExitOther},
		{"doctor found errors", &sickError{1}, ExitFindings},
	} {
		wrapped := c.err
		if wrapped != nil && !as[*usageError](wrapped) {
			wrapped = fmt.Errorf("job j: subtask s/0: %w", wrapped)
		}
		if got := ExitCode(wrapped); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.want)
		}
	}
}

func TestExitCodesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("exit.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[int]bool{ExitTakenOver: true}
	for _, m := range regexp.MustCompile(`(?m)^\tExit\w+ = (\d+)$`).FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[1])
		codes[n] = true
	}
	delete(codes, ExitSignal)
	codes[ExitSignal+int(syscall.SIGINT)], codes[ExitSignal+int(syscall.SIGTERM)] = true, true

	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Exit codes")
	section, _, _ = strings.Cut(section, "\n## ")
	documented := map[int]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([\d, ]+) \|`).FindAllStringSubmatch(section, -1) {
		for _, s := range strings.Split(m[1], ", ") {
			n, _ := strconv.Atoi(s)
			documented[n] = true
		}
	}
	if !maps.Equal(codes, documented) {
		t.Errorf("there are %v, documented are %v", slices.Sorted(maps.Keys(codes)), slices.Sorted(maps.Keys(documented)))
	}
}

func TestMistakesAreOneALineAndOtherErrorsOneLine(t *testing.T) {
	if got := lines(&invalid{errors.Join(errors.New("a"), errors.New("b"))}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	if got := lines(errors.New("a\nb\n")); !slices.Equal(got, []string{"a; b"}) {
		t.Errorf("%q", got)
	}
}
