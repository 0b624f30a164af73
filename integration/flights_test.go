//go:build integration

package integration

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/flights"
	"github.com/weirstream/weir/integration/harness"
)

func TestFlightsEqualWhatSQLiteComputes(t *testing.T) {
	cluster := shared(t)
	ctx := harness.Context(t, 5*time.Minute)
	path, err := flights.Fetch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	expected, err := flights.Expected(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	in := cluster.Topic(t, "flights", 4)
	records, err := flights.Records(path, in)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Produce(t, records...)

	for _, c := range []struct {
		name        string
		parallelism int
		kills       int
	}{
		{"parallelism 1", 1, 0},
		{"parallelism 2", 2, 0},
		{"parallelism 4", 4, 0},
		{"killed ten times", 2, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := cluster.Topic(t, "flights-per-day", 4)
			program := flightsProgram(t, cluster, in, out, c.parallelism)
			if c.kills > 0 {
				killer := harness.Killer{Rand: harness.Rand(t), Kills: c.kills, Least: 60 * time.Millisecond, Most: 160 * time.Millisecond}
				if kills := killer.Finish(t, program, 2*time.Minute); kills < c.kills {
					t.Errorf("the job was through after %d kills, %d were meant: kill it sooner", kills, c.kills)
				}
			} else if p := program.Start(t); p.Exit(2*time.Minute) != 0 {
				t.Fatalf("the job did not reach the end of its input:\n%s", p.Output())
			}
			compareFlights(t, expected, cluster.Read(t, out))
		})
	}
}

// flightsProgram is examples/flights.yaml on the test's topics; it ends by itself at the end of the input.
func flightsProgram(t *testing.T, cluster *harness.Cluster, in, out string, parallelism int) harness.Program {
	t.Helper()
	dir := t.TempDir()
	file, err := filepath.Abs("../examples/flights.yaml")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"run", file, "--address", "off"}
	for _, set := range []string{
		"job=" + harness.Name("flights"),
		"source.flights.topics=[" + in + "]",
		"sink.results.topic=" + out,
		"parallelism=" + strconv.Itoa(parallelism),
		"checkpoint.interval=50ms",
		"checkpoint.storage=" + filepath.Join(dir, "state"),
		"checkpoint.local_dir=" + filepath.Join(dir, "local"),
	} {
		args = append(args, "--set", set)
	}
	return harness.Program{Path: processor, Args: args, Dir: dir, Env: []string{"KAFKA_BROKERS=" + cluster.Brokers[0]}}
}

// compareFlights checks that each carrier and day has one result, equal to the expected one.
func compareFlights(t *testing.T, expected map[flights.Key]flights.Result, output map[int32][]*kgo.Record) {
	t.Helper()
	seen := map[flights.Key]bool{}
	wrong := 0
	differ := func(format string, args ...any) {
		if wrong++; wrong <= 10 {
			t.Errorf(format, args...)
		}
	}
	for _, records := range output {
		for _, r := range records {
			var v struct {
				Carrier   string   `json:"carrier"`
				Day       string   `json:"window_start"`
				Flights   int64    `json:"flights"`
				Cancelled int64    `json:"cancelled"`
				Mean      *float64 `json:"mean_delay"`
				Max       *float64 `json:"max_delay"`
			}
			if err := json.Unmarshal(r.Value, &v); err != nil {
				t.Fatalf("%q: %v", r.Value, err)
			}
			key := flights.Key{Carrier: v.Carrier, Day: v.Day[:min(10, len(v.Day))]}
			want, known := expected[key]
			switch {
			case !known:
				differ("%v: no such carrier and day", key)
			case seen[key]:
				differ("%v: a second result", key)
			case v.Flights != want.Flights || v.Cancelled != want.Cancelled || !near(v.Mean, want.Mean) || !near(v.Max, want.Max):
				differ("%v: got %s, want %d flights, %d cancelled, mean %v, largest %v", key, r.Value, want.Flights, want.Cancelled, show(want.Mean), show(want.Max))
			}
			seen[key] = true
		}
	}
	if len(seen) != len(expected) || wrong > 0 {
		t.Errorf("%d of %d results, %d differ", len(seen), len(expected), wrong)
	}
}

func near(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return math.Abs(*a-*b) <= 1e-9*max(1, math.Abs(*b))
}

func show(f *float64) any {
	if f == nil {
		return "null"
	}
	return *f
}
