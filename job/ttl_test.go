package job_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

const shortLived = 600 * time.Millisecond

// expiringCounts counts per key; a key without events for 600 ms of event time begins anew.
func expiringCounts(parallelism int) *job.Graph {
	g := job.New("expiring")
	in := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"in"}}), decodeVisit)
	timed := job.Via(in, "time", operators.EventTimeMillis(func(v visit) int64 { return v.At }, 0))
	byUser := job.KeyBy(timed, "by-user", func(v visit) string { return v.User })
	counts := job.Via(byUser, "count", operators.WithTTL(operators.Count[visit](), operators.TTL{After: shortLived}), job.Parallelism(parallelism))
	job.To(counts, "out", out("out"), func(c operators.KeyCount, r *stream.Record) error {
		r.Value = strconv.AppendInt(r.Value, c.Count, 10)
		return nil
	})
	return g
}

// expiringInput is record i: of one of 20 keys, or of one that is rare; there is a pause after every 500.
func expiringInput(i int) (key string, ts int64) {
	key = fmt.Sprint("k", i%20)
	if i%97 == 0 {
		key = "rare"
	}
	return key, int64(1_000_000 + i*10 + i/500*2000)
}

// TestExpiryIsTheSameWhateverCrashes kills a job whose state has a TTL again and again, at other parallelisms; results are
// those of a plain loop over the times of the events.
func TestExpiryIsTheSameWhateverCrashes(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(5 * time.Millisecond)
	want := map[string][]string{}
	last, count := map[string]int64{}, map[string]int{}
	const rounds, each = 6, 700
	for round := range rounds {
		var records []*kgo.Record
		for i := round * each; i < (round+1)*each; i++ {
			key, ts := expiringInput(i)
			if ts >= last[key]+shortLived.Milliseconds() {
				count[key] = 0
			}
			last[key] = ts
			count[key]++
			want[key] = append(want[key], strconv.Itoa(count[key]))
			records = append(records, &kgo.Record{Topic: "in", Partition: int32(len(key)+int(key[len(key)-1])) % 4, Key: []byte(key), Value: []byte("1"), Timestamp: time.UnixMilli(ts)})
		}
		if err := c.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		j := start(t, expiringCounts(1+round%3), o)
		if round < rounds-1 {
			some := (round*each + each/3)
			eventually(t, "some results", func() bool { return lines(c.read("out")) > some })
			j.kill()
			continue
		}
		eventually(t, "all results", func() bool { return lines(c.read("out")) >= rounds*each })
		j.stop()
	}
	if err := diff(c.read("out"), want); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"k1", "rare"} {
		if begins := len(slices.DeleteFunc(want[key], func(n string) bool { return n != "1" })); begins < 5 {
			t.Errorf("%s begins anew %d times: this tests nothing", key, begins)
		}
	}
}

func lines(results map[string][]string) (n int) {
	for _, values := range results {
		n += len(values)
	}
	return n
}
