package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/sink"
)

// everything makes metrics in which each one has a value.
func everything(t *testing.T) *Metrics {
	t.Helper()
	job := newFakeJob()
	m := NewMetrics("v1")
	m.watch("clicks", job)
	l := checkpoint.Tee(m.Listener())
	l.OnTrigger(checkpoint.TriggerEvent{Checkpoint: 1})
	l.OnAlign(checkpoint.AlignedEvent{Took: time.Millisecond})
	l.OnSnapshot(checkpoint.SnapshotEvent{Pause: time.Millisecond})
	l.OnPersist(checkpoint.PersistEvent{Took: time.Millisecond, Bytes: 10, Uploaded: 20, Base: true})
	l.OnPrepare(checkpoint.PrepareEvent{Took: time.Millisecond})
	l.OnComplete(checkpoint.CompleteEvent{Checkpoint: 1, Took: 5 * time.Millisecond, Commit: time.Millisecond, Size: 30})
	l.OnRestore(checkpoint.RestoreEvent{Took: 40 * time.Millisecond})
	l.OnStoreRetry(checkpoint.StoreRetryEvent{})
	return m
}

// names are the metrics of ours, as a query names them: a histogram is three.
func names(t *testing.T, m *Metrics) []string {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range families {
		if name := f.GetName(); strings.HasPrefix(name, "weir_") {
			out = append(out, name)
		}
	}
	return out
}

// stepNames are shown only if the engine has made a subtask of the step, which it alone can.
var stepNames = []string{
	"weir_records_in_total", "weir_bytes_in_total", "weir_records_out_total", "weir_bytes_out_total", "weir_bad_records_total",
	"weir_late_records_total", "weir_watermark_seconds", "weir_watermark_lag_seconds", "weir_state_entries", "weir_state_bytes",
}

func allNames(t *testing.T) []string {
	all := append(names(t, everything(t)), stepNames...)
	slices.Sort(all)
	return slices.Compact(all)
}

func TestEveryMetricIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(weir_[a-z_]+)").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, m[1])
	}
	slices.Sort(documented)
	if all := allNames(t); !slices.Equal(documented, all) {
		t.Errorf("docs/operations.md lists\n%s\nthere are\n%s", strings.Join(documented, "\n"), strings.Join(all, "\n"))
	}
}

func TestTheBoardUsesMetricsThatExist(t *testing.T) {
	text, err := os.ReadFile("../../deploy/grafana/weir.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	all := allNames(t)
	used := map[string]bool{}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`\b(?:weir|go|process)_[a-z_]+`).FindAllString(target.Expr, -1) {
				if !strings.HasPrefix(name, "weir_") {
					t.Errorf("panel %s: %s is not one of ours", p.Title, name)
				}
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					if base := strings.TrimSuffix(name, suffix); slices.Contains(all, base) {
						name = base
					}
				}
				used[name] = true
				if !slices.Contains(all, name) {
					t.Errorf("panel %s: there is no metric %s", p.Title, name)
				}
			}
		}
	}
	if len(used) < 15 {
		t.Errorf("only %d metrics are on the board", len(used))
	}
}

func TestCheckpointEventsBecomeMetrics(t *testing.T) {
	m := everything(t)
	if got := testutil.ToFloat64(m.completed); got != 1 {
		t.Errorf("completed %v", got)
	}
	if got := testutil.ToFloat64(m.size); got != 30 {
		t.Errorf("size %v", got)
	}
	if got := m.health.lastDuration(); got != 5 {
		t.Errorf("duration %v ms", got)
	}
	l := m.Listener()
	for _, c := range []struct {
		event  checkpoint.FailedEvent
		reason string
	}{
		{checkpoint.FailedEvent{Expired: true}, failExpired},
		{checkpoint.FailedEvent{Err: fmt.Errorf("complete: %w", &sink.FencedError{Err: errors.New("x")})}, failFenced},
		{checkpoint.FailedEvent{Err: &sink.UnknownOutcomeError{Err: &sink.FencedError{Err: errors.New("x")}}}, failUncertain},
		{checkpoint.FailedEvent{Err: errors.New("no space left on device")}, failOther},
	} {
		before := testutil.ToFloat64(m.failures.WithLabelValues(c.reason))
		l.OnFailed(c.event)
		if after := testutil.ToFloat64(m.failures.WithLabelValues(c.reason)); after != before+1 {
			t.Errorf("%+v: %s went from %v to %v", c.event, c.reason, before, after)
		}
	}
}

func TestAPartitionShowsWhatIsKnownOfIt(t *testing.T) {
	for name, want := range map[string]string{
		"weir_split_lag_records": `# HELP weir_split_lag_records Records of a partition that have not been read yet.
# TYPE weir_split_lag_records gauge
weir_split_lag_records{partition="0",source="views",topic="views-topic"} 10
`,
		"weir_split_event_time_seconds": `# HELP weir_split_event_time_seconds Greatest event time of a partition that was processed, in seconds since the Unix epoch. The least of them holds the watermark back.
# TYPE weir_split_event_time_seconds gauge
weir_split_event_time_seconds{partition="0",source="views",topic="views-topic"} 1.7000000005e+09
`,
	} {
		if err := testutil.GatherAndCompare(everything(t).registry, strings.NewReader(want), name); err != nil {
			t.Error(err)
		}
	}
}
