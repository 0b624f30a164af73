package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestQuantileIsTheNearestRank(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for _, c := range []struct {
		samples []float64
		q, want float64
	}{
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1},
		{[]float64{1, 2, 3}, 0.5, 2}, {[]float64{1, 2, 3}, 0.99, 3}, {[]float64{7}, 0.99, 7},
	} {
		if got := quantile(c.samples, c.q); got != c.want {
			t.Errorf("quantile %g of %d samples: %g, want %g", c.q, len(c.samples), got, c.want)
		}
	}
}

func TestPausesCountOnceStateIsFullAndOnlyWithChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pauses")
	if err := os.WriteFile(file, []byte("999,1,events/0,5000000,10\n1000,2,events/0,40000,20\n1001,3,events/0,50000,0\n1002,4,events/0,60000,30\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	pauses, changes, err := readPauses(file, time.UnixMilli(1000))
	if err != nil || !slices.Equal(pauses, []float64{0.04, 0.06}) || !slices.Equal(changes, []float64{20, 30}) {
		t.Errorf("%v, %v, %v", pauses, changes, err)
	}
}

func TestMetricAddsUpItsSamplesAndNoOthers(t *testing.T) {
	page := "# HELP weir_state_entries Entries.\nweir_state_entries{step=\"a\"} 3\nweir_state_entries{step=\"b\"} 4\nweir_state_entries_old 9\n"
	if got := metric(page, "weir_state_entries"); got != 7 {
		t.Errorf("got %g, want 7", got)
	}
}

func TestLatenciesAreNamedLikeCells(t *testing.T) {
	for text, want := range map[string]latencyRun{
		"weir-w1@20":        {"weir", "w1", 20 * time.Millisecond},
		"limit-alt-w1@100":  {"limit-alt", "w1", 100 * time.Millisecond},
		"weir-yaml-w3@1000": {"weir-yaml", "w3", time.Second},
	} {
		if got, err := parseLatency(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "weir", "weir-w1", "w1@20", "weir-w1@", "weir-w1@0", "weir-w1@fast"} {
		if got, err := parseLatency(text); err == nil {
			t.Errorf("%q was taken for %+v", text, got)
		}
	}
}

func TestProcessesTellWhatTheyUse(t *testing.T) {
	p, err := start(filepath.Join(t.TempDir(), "log"), "", "sh", "-c", "while :; do :; done")
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	for deadline := time.Now().Add(30 * time.Second); ; {
		used, err := p.cpu()
		if err != nil {
			t.Fatal(err)
		}
		if used > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a loop used no CPU time")
		}
	}
	if _, err := p.written(); err != nil {
		t.Error(err)
	}
	if megabytes, err := p.resident(); err != nil || megabytes <= 0 {
		t.Errorf("resident memory %g MB, %v", megabytes, err)
	}
}
