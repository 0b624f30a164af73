package operators_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

// text concatenates values and shows the window: "xy in [0,10)".
var text = operators.Aggregator[string, string, string]{
	Add:   func(acc, v string) (string, error) { return acc + v, nil },
	Merge: func(a, b string) (string, error) { return a + "|" + b, nil },
	Result: func(p operators.Pane, acc string) (string, error) {
		return fmt.Sprintf("%s in [%d,%d)", acc, p.Start, p.End), nil
	},
}

var lateTag = operators.Tag[string]{Name: "late"}

// TestWindows runs the transcripts of testdata/windows. A script has one action a line:
//
//	KEY TIME VALUE    an event
//	watermark TIME    TIME may be "end"
//	restart           a snapshot, and a new operator that goes on from it
//
// and its output is the script with what each action made the operator emit: "key: value @timestamp".
func TestWindows(t *testing.T) {
	datadriven.Walk(t, "testdata/windows", func(t *testing.T, path string) {
		var spec operators.Spec[string, string]
		var h *operatortest.Harness[string, string]
		side := operatortest.NewSide(lateTag)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				spec = operators.WindowAggregate(assigner(t, d), text, operators.WindowOptions[string]{
					AllowedLateness: millis(t, d, "lateness"), Late: lateTag,
				})
				if spec.Err != nil {
					return spec.Err.Error()
				}
				h = operatortest.New(t, spec, side)
				return ""
			case "run":
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					line = strings.TrimSpace(line)
					fmt.Fprintln(&out, line)
					if line == "restart" {
						h = operatortest.Restore(t, spec, h.Snapshot(), side)
						continue
					}
					act(t, h, line)
					for _, ev := range h.Output() {
						fmt.Fprintf(&out, "    %s: %s @%d\n", ev.Key, ev.Value, ev.Timestamp)
					}
					for _, ev := range side.Output() {
						fmt.Fprintf(&out, "    too late: %s: %s @%d\n", ev.Key, ev.Value, ev.Timestamp)
					}
				}
				return out.String()
			case "state":
				return fmt.Sprintf("%d entries, %d late\n", h.Entries(), h.Late())
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

func assigner(t *testing.T, d *datadriven.TestData) (a operators.Assigner) {
	switch kind := d.CmdArgs[0].Key; kind {
	case "tumbling":
		a = operators.Tumbling(millis(t, d, "size"))
	case "hopping":
		a = operators.Hopping(millis(t, d, "size"), millis(t, d, "slide"))
	case "session":
		a = operators.Session(millis(t, d, "gap"))
	default:
		t.Fatalf("unknown windows %q", kind)
	}
	if d.HasArg("offset") {
		a = a.WithOffset(millis(t, d, "offset"))
	}
	return a
}

func millis(t *testing.T, d *datadriven.TestData, arg string) time.Duration {
	var ms int64
	if d.HasArg(arg) {
		d.ScanArgs(t, arg, &ms)
	}
	return time.Duration(ms) * time.Millisecond
}

func act(t *testing.T, h *operatortest.Harness[string, string], line string) {
	t.Helper()
	var key, value string
	var ts int64
	if _, err := fmt.Sscanf(line, "watermark %d", &ts); err == nil {
		h.Watermark(ts)
	} else if line == "watermark end" {
		h.Watermark(stream.MaxTime)
	} else if _, err := fmt.Sscanf(line, "%s %d %s", &key, &ts, &value); err == nil {
		h.Process(key, value, ts)
	} else {
		t.Fatalf("unknown action %q", line)
	}
}
