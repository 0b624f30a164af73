package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const cellLines = `limit,w1,1000,12000000,800000,790000,1.500,0.360,1.20,425,10.5,"OK out=12000000 want=12000000"
limit,w1,1000,12000000,1000000,990000,1.400,0.340,1.20,430,9.5,"OK out=12000000 want=12000000"
limit,w1,1000,12000000,810000,990000,1.450,0.340,1.30,430,9.5,"OK out=12000000 want=12000000"
limit-alt,w1,1000,12000000,700000,690000,1.500,0.360,1.20,425,10.5,"OK out=12000000 want=12000000"
weir,w1,1000,12000000,900000,790000,1.160,0.360,0.90,150,11.5,"OK out=12000000 want=12000000"
weir,w1,100,12000000,810000,790000,1.300,0.360,0.90,150,11.5,"OK out=12000000 want=12000000"
flink-rocksdb,w3,1000,3000000,100000,90000,19.200,1.800,7.40,1233,20.0,"OK out=3000000"
weir,w3,1000,3000000,900000,490000,2.000,0.400,0.90,250,5.0,"WRONG out=2999999"
limit-json,w2,1000,600,NaN,NaN,NaN,NaN,1.10,200,0.0,"OK out=300"
weir,w2,1000,600,NaN,NaN,NaN,NaN,1.10,100,0.0,"OK out=300"
weir,w7,1000,12000000,400000,400000,4.000,0.400,0.90,400,5.0,"OK out=100"
kstreams,w7,1000,3000000,50000,50000,30.000,0.400,0.90,900,5.0,"OK out=30"
weir,w5,1000,30000000,200000,200000,5.000,0.400,0.90,600,5.0,"OK out=30000000"
`

const figureLines = `pause,weir,ms,100,0.100,1.300,2.000
memory,weir-yaml,MB,1,41.250,41.250,41.250
scaling,weir,x,1,1.800,1.800,1.800
latency-w1-20-cpu,weir,CPU-s per M,1,4.000,4.000,4.000
latency-w1-20,weir,ms,600000,25.000,70.000,90.000
latency-w3-100,weir,ms,600000,60.000,110.000,150.000
latency-w3-100-cpu,weir,CPU-s per M,1,4.000,4.000,4.000
latency-w1-100,limit-alt,ms,600000,60.000,116.000,200.000
latency-w3-100,flink,ms,600000,80.000,160.000,300.000
latency-w3-100-cpu,flink,CPU-s per M,1,19.000,19.000,19.000
`

func TestTablesCompareTheMediansOfTheRuns(t *testing.T) {
	results := filepath.Join(t.TempDir(), "run")
	for suffix, text := range map[string]string{"-machine.txt": "2026-01-02\nfour cores\n", "-cells.csv": cellLines, "-figures.csv": figureLines} {
		if err := os.WriteFile(results+suffix, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := read([]string{results})
	if err != nil {
		t.Fatal(err)
	}
	got := r.text()
	for _, want := range []string{
		"Measured on: 2026-01-02; four cores.\n",
		// The median of 800, 1000 and 810, which is more than limit-alt's.
		"| W1 pass-through | Weir, Go | k records/s | 900 | limit (bare franz-go) | 810 | 1.11 | at least 1.1 | yes |\n",
		"| W1 pass-through | Weir, Go | CPU-s per M | 1.16 | limit (bare franz-go) | 1.45 | 0.80 | at most 0.85 | yes |\n",
		"| W1 pass-through, 100 ms | Weir, Go | k records/s | 810 | Weir, Go at 1000 ms | 900 | 0.90 | at least 0.95 | **no** |\n",
		"| W1 pass-through | limit (bare franz-go) | 12.0 M | 3 | 810 (800-1000) | 1.45 (1.40-1.50) | 0.34 (0.34-0.36) | 1.2 (1.2-1.3) | 451 (446-451) | right |\n",
		// Nine times Flink, but wrong.
		"| W3 running count and sum | Weir, Go | k records/s | 900 | Flink RocksDB | 100 | 9.00 | at least 8 | **no** |\n",
		"| W3 running count and sum | Weir, Go | 3.0 M | 1 | 900 | 2.00 | 0.40 | 0.9 | 262 | **wrong** |\n",
		// Too small an input to measure anything.
		"| W2 JSON filter and projection | Weir, Go | k records/s | - | limit-json (bare franz-go) | - | - | at least 1.2 | - |\n",
		"| W5: W3 with more state than memory | Weir, Go | peak RSS, MB | 629 |  |  |  | at most 640 | yes |\n",
		"| W7 join within a window | Weir, Go | k records/s | 400 | Kafka Streams | 50 | 8.00 |  |  |\n",
		"| Barrier pause, W3 with 1 M keys | Weir, Go | ms | 100 | 0.100 | 1.300 | 2.000 | p99 at most 1 | **no** |\n",
		"| Resident memory of an idle job | Weir, YAML | MB | 1 | 41.2 | 41.2 | 41.2 | max at most 40 | **no** |\n",
		"| Two subtasks to one, all cores | Weir, Go | x | 1 | 1.800 | 1.800 | 1.800 | at least 1.7 | yes |\n",
		"| W1 pass-through | 20 | Weir, Go | 600000 | 25.0 | 70.0 | 90 | 4.00 | p50 at most 30, p99 at most 80 | yes |\n",
		"| 4.00 | p50 at most 60.0, p99 at most 116.0, CPU at most 3.80 | **no** |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %sin\n%s", want, got)
		}
	}
}

func TestSeveralResultsAreFurtherRuns(t *testing.T) {
	dir := t.TempDir()
	var results []string
	for _, rate := range []string{"100000", "300000", "200000"} {
		prefix := filepath.Join(dir, rate)
		line := "weir,w1,1000,12000000," + rate + ",1,1.000,0.300,0.90,150,11.5,OK\n"
		if err := os.WriteFile(prefix+"-cells.csv", []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
		results = append(results, prefix)
	}
	r, err := read(results)
	if err != nil {
		t.Fatal(err)
	}
	if want := "| 12.0 M | 3 | 200 (100-300) |"; !strings.Contains(r.text(), want) {
		t.Errorf("no %q in\n%s", want, r.text())
	}
	if _, err := read([]string{results[0], filepath.Join(dir, "other")}); err == nil {
		t.Error("a run that is not there was read")
	}
}

func TestRunsOverAnotherInputAreNotMixed(t *testing.T) {
	if _, err := parseCells("weir,w1,1000,3000000,1,1,1,1,1,1,1,OK\nweir,w1,1000,12000000,1,1,1,1,1,1,1,OK\n"); err == nil {
		t.Error("runs over 3 M and 12 M records were taken for one cell")
	}
}

func TestOnlyWhatStandsBetweenTheMarkersIsReplaced(t *testing.T) {
	doc := "before\n" + begin + "\nold\n" + end + "\nafter\n"
	got, err := replace(doc, "new\n")
	if want := "before\n" + begin + "\nnew\n" + end + "\nafter\n"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := replace("no markers", "new"); err == nil {
		t.Error("a document without markers was changed")
	}
}
