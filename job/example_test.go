package job_test

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// View is what the job reads: somebody looked at a page, or clicked on something.
type View struct {
	User  string `json:"user"`
	Page  string `json:"page"`
	Click bool   `json:"click"`
}

func isClick(v View) bool { return v.Click }

// encodeCount writes the value. The key is there already: it is that of KeyBy.
func encodeCount(c operators.KeyCount, out *stream.Record) error {
	out.Value = strconv.AppendInt(out.Value, c.Count, 10)
	return nil
}

// A whole job: it counts the clicks of each user and writes the new count for each of them. It runs here on a Kafka in
// memory, and ends by itself because its source has a stop_at.
func ExampleGraph() {
	brokers, finish := kafkaWith("views",
		`{"user":"ann","page":"/","click":true}`,
		`{"user":"bob","page":"/","click":false}`,
		`{"user":"ann","page":"/buy","click":true}`,
		`{"user":"bob","page":"/buy","click":true}`,
	)
	defer finish()

	g := job.New("clicks-per-user")
	decodeView := job.JSON[View](g)
	views := job.From(g, "views", source.Kafka(source.KafkaOptions{Topics: []string{"views"}, StopAt: "latest"}), decodeView)
	clicks := job.Via(views, "clicks", operators.Filter(isClick))
	byUser := job.KeyBy(clicks, "by-user", func(v View) string { return v.User })
	counts := job.Via(byUser, "count", operators.Count[View]())
	job.To(counts, "counts", sink.Kafka(sink.KafkaOptions{Topic: "counts"}), encodeCount)

	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	err = g.Run(context.Background(), job.Options{
		Kafka:      job.Kafka{Brokers: brokers},
		Checkpoint: checkpoint.Options{Storage: dir + "/state", LocalDir: dir + "/local"},
	})
	if err != nil {
		panic(err)
	}
	printTopic(brokers, "counts", 3)

	// Output:
	// ann 1
	// ann 2
	// bob 1
}

// Mistakes in a job are reported together, before anything is started.
func ExampleGraph_Validate() {
	g := job.New("clicks-per-user")
	views := job.From(g, "views", source.Kafka(source.KafkaOptions{}), job.JSON[View](g))
	counts := job.Via(views, "count", operators.Count[View]())
	job.To(counts, "count", sink.Kafka(sink.KafkaOptions{Topic: "counts"}), encodeCount)

	fmt.Println(g.Validate())

	// Output:
	// job clicks-per-user: source views: topics: missing: name at least one topic
	// job clicks-per-user: operator count: no key: put a key_by before it
	// job clicks-per-user: sink count: another step has this name: a name is the identity of a step's state
}

// kafkaWith starts a Kafka in memory with the topics of the examples, of one partition each, and writes values to one.
func kafkaWith(topic string, values ...string) (brokers []string, finish func()) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "views", "counts"))
	if err != nil {
		panic(err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		panic(err)
	}
	defer cl.Close()
	for _, v := range values {
		if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Value: []byte(v)}).FirstErr(); err != nil {
			panic(err)
		}
	}
	return c.ListenAddrs(), c.Close
}

// printTopic prints the first n records that a read_committed reader sees.
func printTopic(brokers []string, topic string, n int) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableFetchSessions())
	if err != nil {
		panic(err)
	}
	defer cl.Close()
	for n > 0 {
		fetches := cl.PollRecords(context.Background(), n)
		if err := fetches.Err(); err != nil {
			panic(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Println(string(r.Key), string(r.Value))
			n--
		})
	}
}
