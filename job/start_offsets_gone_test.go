package job_test

import (
	"errors"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// A start that takes a savepoint's offsets alone never skips records silently: a partition whose log begins behind them by now
// refuses it, and disturbs nobody. One that has been idle since goes on where it was, one that is new is read from its beginning.
func TestOffsetsWhoseRecordsAreGoneAreRefused(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(5 * time.Millisecond)
	dir := filepath.Join(t.TempDir(), "savepoint")
	c.left(sums(1), o, 100, dir) // ten keys: k1, k5 and k9 are in partition 1
	from := o
	from.Start = job.Start{Fresh: true, OffsetsFrom: dir}

	admin := kadm.NewClient(c.client)
	if _, err := admin.UpdatePartitions(t.Context(), 5, "in"); err != nil {
		t.Fatal(err)
	}
	c.client = c.connect(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	c.produce("in", 0, "k0", "7")
	c.produce("in", 1, "k1", "8")
	c.produce("in", 1, "k1", "9")
	c.produce("in", 4, "new", "5")
	ends, err := admin.ListEndOffsets(t.Context(), "in")
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup("in", 1)
	deleted := make(kadm.Offsets)
	deleted.AddOffset("in", 1, end.Offset-1, -1)
	if _, err := admin.DeleteRecords(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	var loss *source.DataLossError
	if err := start(t, sums(1), from).wait(); !errors.As(err, &loss) || loss.Partition != 1 {
		t.Fatalf("got %v", err)
	}
	was := c.read("out")
	// What went is the first of the two: the one that is left is read if the user says so.
	past := job.New("sums")
	in := job.From(past, "in", source.Kafka(source.KafkaOptions{Topics: []string{"in"}, OnDataLoss: "earliest"}), decodeKeyed)
	byKey := job.KeyBy(in, "by-key", func(k keyed) string { return k.Key })
	sum := job.Via(byKey, "sum", operators.Reduce(func(a, b keyed) keyed { return keyed{b.Key, a.N + b.N} }))
	job.To(sum, "out", out("out"), func(k keyed, r *stream.Record) error {
		r.Value = strconv.AppendInt(r.Value, k.N, 10)
		return nil
	})
	j := start(t, past, from)
	eventually(t, "the job to run", func() bool { return j.Status().Phase == runtime.Running })
	for key, value := range map[string]string{"k0": "7", "k1": "9", "new": "5"} {
		was[key] = append(was[key], value)
	}
	eventually(t, "the results", func() bool { return diff(c.read("out"), was) == nil })
	j.stop()
	if err := diff(c.read("out"), was); err != nil {
		t.Error(err)
	}
}
