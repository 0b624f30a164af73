package job_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// numbers passes numbers through; what is not one is a bad record. A result 7 is made too large for any topic.
func numbers(policy, topic string) *job.Graph {
	g := job.New("numbers")
	events := job.From(g, "in", in("in"), decodeKeyed, job.OnBadRecord(policy, topic))
	job.To(events, "out", out("out"), func(k keyed, r *stream.Record) error {
		switch k.N {
		case 7:
			r.Value = append(r.Value, noise(3<<20)...)
		case 8:
			return fmt.Errorf("eight is not written")
		default:
			r.Value = strconv.AppendInt(r.Value, k.N, 10)
		}
		return nil
	}, job.OnBadRecord(policy, topic))
	return g
}

// noise does not compress.
func noise(n int) []byte {
	b, x := make([]byte, n), uint32(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return b
}

func TestBadRecordsAreSkippedAndCounted(t *testing.T) {
	c := newCluster(t, "in", "out")
	for _, v := range []string{"1", "x", "7", "8", "2"} {
		c.produce("in", 0, "k", v)
	}
	j := start(t, numbers("skip", ""), c.options(10*time.Millisecond))
	if err := j.wait(); err != nil {
		t.Fatal(err)
	}
	if err := diff(c.read("out"), map[string][]string{"k": {"1", "2"}}); err != nil {
		t.Error(err)
	}
	bad := int64(0)
	j.Metrics().Each(func(_ string, _ int, s *runtime.StepMetrics) { bad += s.BadRecords.Load() })
	if bad != 3 {
		t.Errorf("%d bad records counted, want 3", bad)
	}
}

func TestBadRecordsGoToTheDeadLetterTopicWithWhereAndWhy(t *testing.T) {
	c := newCluster(t, "in", "out", "dead")
	for _, v := range []string{"1", "x", "8", "2"} {
		c.produce("in", 3, "k", v)
	}
	finish(t, numbers("dead_letter", "dead"), c.options(10*time.Millisecond))
	if err := diff(c.read("out"), map[string][]string{"k": {"1", "2"}}); err != nil {
		t.Error(err)
	}
	headers := map[string]string{}
	for _, r := range c.records("dead") {
		if string(r.Value) != "x" {
			continue
		}
		for _, h := range r.Headers {
			headers[h.Key] = string(h.Value)
		}
	}
	for k, want := range map[string]string{"weir.step": "in", "weir.topic": "in", "weir.partition": "3", "weir.offset": "1"} {
		if headers[k] != want {
			t.Errorf("header %s is %q, want %q", k, headers[k], want)
		}
	}
	if !strings.Contains(headers["weir.error"], "invalid syntax") {
		t.Errorf("header weir.error is %q", headers["weir.error"])
	}
}

func TestAResultThatIsTooLargeStopsTheJob(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.produce("in", 0, "k", "7")
	err := start(t, numbers("fail", ""), c.options(10*time.Millisecond)).wait()
	if err == nil || !strings.Contains(err.Error(), `sink out: bad result with key "k": topic out partition`) {
		t.Fatalf("got %v", err)
	}
}

func TestKeysHeadersTimestampsAndNullsPassThrough(t *testing.T) {
	c := newCluster(t, "in", "out")
	sent := []*kgo.Record{
		{Key: []byte("k"), Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}, {Key: "h", Value: nil}}},
		{Key: nil, Value: []byte{}},
		{Key: []byte{}, Value: nil},
	}
	for i, r := range sent {
		r.Topic, r.Timestamp = "in", time.UnixMilli(1_790_000_000_000+int64(i))
	}
	if err := c.client.ProduceSync(context.Background(), sent...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	g := job.New("copy")
	job.To(job.From(g, "in", in("in"), job.Raw), "out", out("out"), job.RawOut)
	finish(t, g, c.options(10*time.Millisecond))
	show := func(r *kgo.Record) string {
		return fmt.Sprintf("%#v %#v %d %v", r.Key, r.Value, r.Timestamp.UnixMilli(), r.Headers)
	}
	got := map[string]bool{}
	for _, r := range c.records("out") {
		got[show(r)] = true
	}
	for _, r := range sent {
		if !got[show(r)] {
			t.Errorf("missing %s in %v", show(r), got)
		}
	}
}

func TestAtLeastOnceLosesNothing(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(20 * time.Millisecond)
	o.Checkpoint.Mode = checkpoint.AtLeastOnce
	c.feed("in", 0, 2000, 20)
	j := start(t, sums(2), o)
	eventually(t, "output before any checkpoint ends", func() bool { return len(c.read("out")) > 0 })
	j.kill()
	c.feed("in", 2000, 2000, 20)
	j = start(t, sums(2), o)
	want := wantSums(4000, 20)
	eventually(t, "every result, some of them twice", func() bool {
		got := c.read("out")
		for k, w := range want {
			seen := map[string]bool{}
			for _, v := range got[k] {
				seen[v] = true
			}
			for _, v := range w {
				if !seen[v] {
					return false
				}
			}
		}
		return true
	})
	j.stop()
}

func TestASourceMayBeOnAnotherCluster(t *testing.T) {
	there, here := newCluster(t, "in"), newCluster(t, "out")
	there.feed("in", 0, 300, 3)
	g := job.New("across")
	events := job.From(g, "in", in("in"), decodeKeyed, job.Cluster(job.Kafka{Brokers: there.addrs}))
	byKey := job.KeyBy(events, "by-key", func(k keyed) string { return k.Key })
	job.To(job.Via(byKey, "count", operators.Count[keyed]()), "out", out("out"), func(n operators.KeyCount, r *stream.Record) error {
		r.Value = strconv.AppendInt(r.Value, n.Count, 10)
		return nil
	})
	finish(t, g, here.options(10*time.Millisecond))
	for k, v := range here.read("out") {
		if len(v) != 100 || v[99] != "100" {
			t.Errorf("key %s: %v", k, v)
		}
	}
}
