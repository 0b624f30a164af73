package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const cellLines = `limit,w1,1000,12000000,800000,790000,1.500,0.360,1.20,425,10.5,"OK out=12000000 want=12000000"
limit,w1,1000,12000000,1000000,990000,1.400,0.340,1.20,430,9.5,"OK out=12000000 want=12000000"
weir,w1,1000,12000000,810000,790000,1.100,0.360,0.90,150,11.5,"OK out=12000000 want=12000000"
flink-rocksdb,w3,1000,3000000,100000,90000,19.200,1.800,7.40,1233,20.0,"OK out=3000000"
weir,w3,1000,3000000,500000,490000,2.000,0.400,0.90,250,5.0,"WRONG out=2999999"
limit-json,w2,1000,600,NaN,NaN,NaN,NaN,1.10,200,0.0,"OK out=300"
weir,w2,1000,600,NaN,NaN,NaN,NaN,1.10,100,0.0,"OK out=300"
`

func TestTablesCompareTheMeansOfTheRuns(t *testing.T) {
	results := filepath.Join(t.TempDir(), "run")
	for suffix, text := range map[string]string{
		"-machine.txt": "2026-01-02\nfour cores\n",
		"-cells.csv":   cellLines,
		"-figures.csv": "pause,weir,ms,100,0.100,1.300,2.000\nmemory,weir-yaml,MB,1,41.250,41.250,41.250\n",
	} {
		if err := os.WriteFile(results+suffix, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := report(results)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Measured on: 2026-01-02; four cores.\n",
		"| W1 pass-through | Weir, Go | 810 | limit (bare franz-go) | 900 | 0.90 | 0.85 | yes |\n",
		"| W1 pass-through | limit (bare franz-go) | 12.0 M | 800 / 1000 | 1.50 / 1.40 | 0.36 / 0.34 | 1.2 / 1.2 | 425 / 430 | right |\n",
		// Five times Flink, but wrong.
		"| W3 running count and sum | Weir, Go | 500 | Flink RocksDB | 100 | 5.00 | 4 | **no** |\n",
		"| W3 running count and sum | Weir, Go | 3.0 M | 500 | 2.00 | 0.40 | 0.9 | 250 | **wrong** |\n",
		// Too small an input to measure anything.
		"| W2 JSON filter and projection | Weir, Go | - | limit-json (bare franz-go) | - | - | 0.8 | - |\n",
		"| Barrier pause, W3 with 1 M keys | Weir, Go | ms | 100 | 0.100 | 1.300 | 2.000 | p99 1 | **no** |\n",
		"| Resident memory of an idle job | Weir, YAML | MB | 1 | 41.2 | 41.2 | 41.2 | max 60 | yes |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %sin\n%s", want, got)
		}
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
