package main

import (
	"path/filepath"
	"testing"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

func TestInputBatchesFollowEachOther(t *testing.T) {
	l, err := newInputLog(0, 3*batchRecords, inputBatches)
	if err != nil {
		t.Fatal(err)
	}
	all := l.read(0, 1<<30)
	if n := recordsIn(all); n != 3*batchRecords {
		t.Errorf("%d records, want %d", n, 3*batchRecords)
	}
	rest := l.read(2*batchRecords, 1)
	if n := recordsIn(rest); n != batchRecords {
		t.Errorf("from the last batch on: %d records, want %d", n, batchRecords)
	}
	if got := l.read(3*batchRecords, 1<<20); got != nil {
		t.Errorf("%d bytes behind the end", len(got))
	}
}

func TestTheEngineAloneWritesEveryResult(t *testing.T) {
	const records = partitions * batchRecords
	fromFile, err := yamlGraph("../jobs/w3.yaml", "in", "out")
	if err != nil {
		t.Fatal(err)
	}
	inGo := job.New("alone")
	works["w3"](inGo, source.Kafka(source.KafkaOptions{Topics: []string{"in"}}), sink.Kafka(sink.KafkaOptions{Topic: "out"}))
	for parallelism, g := range map[int]*job.Graph{1: inGo, 2: fromFile} {
		dir := t.TempDir()
		options := job.Options{Parallelism: parallelism, Checkpoint: checkpoint.Options{
			Storage: filepath.Join(dir, "state"), LocalDir: filepath.Join(dir, "local"),
		}}
		if err := (&engineRun{work: "w3", in: "in", out: "out", records: records}).measure(g, options); err != nil {
			t.Errorf("parallelism %d: %v", parallelism, err)
		}
	}
}
