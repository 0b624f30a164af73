package verify_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob"
)

// example is a job of examples/ and what it reads.
type example struct {
	file string
	// topics are all its topics, the last of them the one that faults are planted in; set are changes of the file, and sink
	// names the topic's value in it.
	topics []string
	set    []string
	sink   string
	// record makes the i-th record of the input.
	record func(rng *rand.Rand, i int) *kgo.Record
}

var day = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var examples = []example{
	{
		file: "clicks", topics: []string{"views", "clicks-per-user"}, set: []string{"source.views.stop_at=latest"}, sink: "counts",
		record: func(rng *rand.Rand, i int) *kgo.Record {
			user := rng.IntN(9)
			return text("views", user, fmt.Sprintf(`{"user":"u%d","page":"/","click":%v}`, user, i%2 == 0), i)
		},
	},
	{
		file: "copy", topics: []string{"orders", "orders-eu"}, set: []string{"source.orders.stop_at=latest"}, sink: "copy",
		record: func(rng *rand.Rand, i int) *kgo.Record {
			r := text("orders", rng.IntN(9), fmt.Sprint("order ", i), i)
			r.Key = fmt.Appendf(nil, "%s-%d", []string{"eu", "us"}[i%2], rng.IntN(9))
			r.Headers = []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, i)}}
			return r
		},
	},
	{
		file: "errors", topics: []string{"shop-log", "billing-log", "errors-full", "errors-brief"}, sink: "in-brief",
		set: []string{"source.shop.stop_at=latest", "source.shop.start=earliest", "source.billing.stop_at=latest", "source.billing.start=earliest"},
		record: func(rng *rand.Rand, i int) *kgo.Record {
			return text([]string{"shop-log", "billing-log"}[i%2], rng.IntN(9), fmt.Sprintf(`{"level":"%s","message":" no %d ","at":"%s","context":{"user":{"id":%d}}}`,
				[]string{"info", "error", "fatal"}[rng.IntN(3)], i, day.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), rng.IntN(5)), i)
		},
	},
	{
		file: "flights", topics: []string{"flights", "flights-per-day"}, sink: "results",
		record: func(rng *rand.Rand, i int) *kgo.Record {
			return text("flights", rng.IntN(4), fmt.Sprintf(`{"carrier":"C%d","dep_delay":%d,"dep_time":%d,"time_hour":"%s"}`, rng.IntN(5), rng.IntN(100)-20, i,
				day.Add(time.Duration(i)*time.Hour-time.Duration(rng.IntN(20))*time.Hour).Format(time.RFC3339)), i)
		},
	},
	{
		file: "sessions", topics: []string{"views", "views-late", "views-bad", "visits"}, set: []string{"source.views.stop_at=latest"}, sink: "visits",
		record: func(rng *rand.Rand, i int) *kgo.Record {
			user := rng.IntN(9)
			amount := fmt.Sprint(rng.IntN(3))
			if i%50 == 7 {
				amount = `"bad"`
			}
			return text("views", user, fmt.Sprintf(`{"user":"u%d","page":"/%d","amount":%s,"ts":"%s"}`, user, rng.IntN(4), amount,
				day.Add(time.Duration(i)*7*time.Minute-time.Duration(rng.IntN(5))*time.Second).Format(time.RFC3339)), i)
		},
	},
}

func text(topic string, key int, value string, i int) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Partition: int32(key % 4), Key: fmt.Append(nil, "u", key), Value: []byte(value), Timestamp: day.Add(time.Duration(i) * time.Second),
	}
}

// The jobs of examples/ can be verified, and what is planted in their output is found.
func TestTheExamplesAreVerified(t *testing.T) {
	for _, e := range examples {
		t.Run(e.file, func(t *testing.T) {
			c := newCluster(t, e.topics...)
			rng := rand.New(rand.NewPCG(1, 2))
			var records []*kgo.Record
			for i := range 1000 {
				records = append(records, e.record(rng, i))
			}
			c.produce(records...)
			dir := t.TempDir()
			load := func(more ...string) *yamljob.Loaded {
				brokers := c.fake.ListenAddrs()[0]
				l, err := yamljob.Load(filepath.Join("../../examples", e.file+".yaml"), yamljob.LoadOptions{
					Env: func(string) (string, bool) { return brokers, true },
					Set: slices.Concat([]string{
						"checkpoint.storage=" + dir + "/state", "checkpoint.local_dir=" + dir + "/local", "checkpoint.interval=10ms", "parallelism=2",
					}, e.set, more),
				})
				if err != nil {
					t.Fatal(err)
				}
				return l
			}
			l := load(e.env()...)
			c.run(l.Graph, l.Options)
			report := c.verified(l.Graph, l.Options, job.VerifyOptions{})
			for _, o := range report.Outputs {
				if o.Equal != o.Seen || o.Expected != o.Seen || o.Seen == 0 && o.Topic != "views-late" {
					t.Errorf("got %+v", o)
				}
			}
			n := 0
			c.rewrite(e.topics[len(e.topics)-1], "planted", func(r *kgo.Record) []*kgo.Record {
				if n++; n == 3 {
					return nil
				}
				if n == 8 {
					return []*kgo.Record{r, r}
				}
				return []*kgo.Record{r}
			})
			l = load(append(e.env(), "sink."+e.sink+".topic=planted")...)
			report, err := c.verify(l.Graph, l.Options, job.VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if e.file == "flights" {
				// A carrier's flights are in all partitions: what differs is not judged.
				if report.Outputs[0].Undecided == 0 || report.Err() == nil {
					t.Errorf("got %+v", report.Outputs[0])
				}
				return
			}
			if len(report.Examples) != 2 || report.Count("lost") != 1 || report.Count("doubled") != 1 {
				t.Errorf("got %v", findings(report))
			}
		})
	}
}

// env replaces what the files take from the environment, which is the broker here.
func (e *example) env() []string {
	switch e.file {
	case "errors":
		return []string{"source.billing.topics=billing-log"}
	case "copy":
		return []string{"source.orders.kafka.tls.enabled=false"}
	}
	return nil
}
