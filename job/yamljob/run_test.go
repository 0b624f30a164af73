package yamljob

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

// Transcripts of whole jobs on a Kafka in memory, with one partition a topic. "topics" makes topics. "produce" writes
// records, "key value" a line, "-" for null; ts= is the first one's timestamp, of which each has one millisecond more. "run"
// runs an example or the file that follows until the end of its input, and answers with what a read_committed reader
// sees of the topics that were not there before: "topic key value @timestamp".
func TestJobs(t *testing.T) {
	defer goleak.VerifyNone(t)
	datadriven.Walk(t, "testdata/run", func(t *testing.T, path string) {
		c := &cluster{t: t}
		defer func() { c.close() }()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c.t = t
			switch d.Cmd {
			case "topics":
				c.start(strings.Fields(d.Input))
			case "produce":
				var topic string
				ts := "0"
				d.ScanArgs(t, "topic", &topic)
				d.MaybeScanArgs(t, "ts", &ts)
				c.produce(topic, ts, d.Input)
			case "run":
				return c.run(d)
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return ""
		})
	})
}

type cluster struct {
	t      *testing.T
	fake   *kfake.Cluster
	client *kgo.Client
	topics []string
	seen   map[string]int64
}

func (c *cluster) start(topics []string) {
	var err error
	if c.fake, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topics...)); err != nil {
		c.t.Fatal(err)
	}
	if c.client, err = kgo.NewClient(kgo.SeedBrokers(c.fake.ListenAddrs()...)); err != nil {
		c.t.Fatal(err)
	}
	c.topics, c.seen = topics, map[string]int64{}
}

func (c *cluster) close() {
	if c.client != nil {
		c.client.Close()
		c.fake.Close()
	}
}

func (c *cluster) produce(topic, from, lines string) {
	ts, err := strconv.ParseInt(from, 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.SplitSeq(lines, "\n") {
		key, value, _ := strings.Cut(line, " ")
		r := &kgo.Record{Topic: topic, Timestamp: time.UnixMilli(ts), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}}}
		if key != "-" {
			r.Key = []byte(key)
		}
		if value != "-" {
			r.Value = []byte(value)
		}
		if err := c.client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			c.t.Fatal(err)
		}
		c.seen[topic] = r.Offset + 1
		ts++
	}
}

func (c *cluster) run(d *datadriven.TestData) string {
	dir := c.t.TempDir()
	opts := LoadOptions{Env: env(map[string]string{"KAFKA_BROKERS": c.fake.ListenAddrs()[0], "SOURCE_BROKERS": c.fake.ListenAddrs()[0]}),
		Set: []string{"checkpoint.storage=" + dir + "/state", "checkpoint.local_dir=" + dir + "/local", "checkpoint.interval=20ms", "checkpoint.restart.strategy=none"}}
	var example string
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "example":
			example = a.Vals[0]
		case "set":
			opts.Set = append(opts.Set, strings.Join(a.Vals, ","))
		}
	}
	var l *Loaded
	var err error
	if example != "" {
		l, err = Load(filepath.Join("../../examples", example+".yaml"), opts)
	} else {
		l, err = Parse("job.yaml", []byte(d.Input+"\n"), opts)
	}
	if err != nil {
		return err.Error() + "\n"
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	failed := ""
	if err := l.Graph.Run(ctx, l.Options); err != nil {
		failed = "failed: " + strings.ReplaceAll(err.Error(), "\n", " ") + "\n"
	}
	if ctx.Err() != nil {
		c.t.Fatal("the job did not end within a minute")
	}
	lines := c.read(ctx, c.topics...)
	if d.HasArg("sorted") {
		slices.Sort(lines)
	}
	return strings.Join(lines, "") + failed
}

// read returns what is new in topics.
func (c *cluster) read(ctx context.Context, topics ...string) (lines []string) {
	ends, err := kadm.NewClient(c.client).ListCommittedOffsets(ctx, topics...)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, topic := range topics {
		end, _ := ends.Lookup(topic, 0)
		from := c.seen[topic]
		if c.seen[topic] = end.Offset; end.Offset <= from {
			continue
		}
		cl, err := kgo.NewClient(kgo.SeedBrokers(c.fake.ListenAddrs()...), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableFetchSessions(), kgo.KeepControlRecords(),
			kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(from)}}))
		if err != nil {
			c.t.Fatal(err)
		}
		for last := int64(-1); last < end.Offset-1; {
			fs := cl.PollFetches(ctx)
			if err := fs.Err(); err != nil {
				c.t.Fatal(err)
			}
			fs.EachRecord(func(r *kgo.Record) {
				if last = r.Offset; !r.Attrs.IsControl() {
					lines = append(lines, show(r))
				}
			})
		}
		cl.Close()
	}
	return lines
}

func show(r *kgo.Record) string {
	text := func(b []byte) string {
		if b == nil {
			return "-"
		}
		return string(b)
	}
	s := fmt.Sprintf("%s %s %s @%d", r.Topic, text(r.Key), text(r.Value), r.Timestamp.UnixMilli())
	for _, h := range r.Headers {
		s += fmt.Sprintf(" %s=%s", h.Key, h.Value)
	}
	return s + "\n"
}
