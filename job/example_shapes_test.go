package job_test

import (
	"context"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// A key decides which records meet in one place: state belongs to it, and its records are processed in order. It is also
// the key of what a sink writes, unless encode sets another one.
func ExampleKeyBy() {
	brokers, finish := kafkaOf(map[string][]string{
		"views": {`{"user":"ann","page":"/"}`, `{"user":"bob","page":"/buy"}`, `{"user":"bob","page":"/"}`},
		"pages": nil,
	})
	defer finish()

	g := job.New("views-per-page")
	views := job.From(g, "views", in("views"), job.JSON[View](g))
	byPage := job.KeyBy(views, "by-page", func(v View) string { return v.Page })
	job.To(job.Via(byPage, "count", operators.Count[View]()), "pages", out("pages"), encodeCount)
	runExample(g, brokers)
	printTopic(brokers, "pages", 3)

	// Unordered output:
	// / 1
	// /buy 1
	// / 2
}

// A union is one stream of several. The steps after it do not see where a record came from.
func ExampleUnion() {
	brokers, finish := kafkaOf(map[string][]string{
		"web":    {`{"user":"ann","page":"/"}`},
		"app":    {`{"user":"ann","page":"/buy"}`, `{"user":"bob","page":"/"}`},
		"counts": nil,
	})
	defer finish()

	g := job.New("views-per-user")
	web := job.From(g, "web", in("web"), job.JSON[View](g))
	app := job.From(g, "app", in("app"), job.JSON[View](g))
	byUser := job.KeyBy(job.Union("both", web, app), "by-user", func(v View) string { return v.User })
	job.To(job.Via(byUser, "count", operators.Count[View]()), "counts", out("counts"), encodeCount)
	runExample(g, brokers)
	printTopic(brokers, "counts", 3)

	// Unordered output:
	// ann 1
	// ann 2
	// bob 1
}

// A side output takes what does not belong into the stream: here views of nobody. The step that reads it names the tag.
func ExampleSide() {
	brokers, finish := kafkaOf(map[string][]string{
		"views":  {`{"user":"ann","page":"/"}`, `{"page":"/buy"}`},
		"users":  nil,
		"nobody": nil,
	})
	defer finish()

	g := job.New("known-users")
	views := job.From(g, "views", in("views"), job.JSON[View](g))
	byUser := job.KeyBy(views, "by-user", func(v View) string { return v.User })
	known := job.Via(byUser, "known", operators.Process(func() operators.Processor[View, View] { return new(knownUsers) }))
	job.To(known, "users", out("users"), encodePage)
	job.To(job.Side(known, nobody), "nobody", out("nobody"), encodePage)
	runExample(g, brokers)
	printTopic(brokers, "users", 1)
	printTopic(brokers, "nobody", 1)

	// Output:
	// ann /
	//  /buy
}

var nobody = operators.Tag[View]{Name: "nobody"}

// knownUsers emits views of users, and views of nobody to the side output of that name.
type knownUsers struct {
	operators.NoTimers[View]
	nobody stream.Emit[View]
}

func (k *knownUsers) Open(ctx *operators.Context) error {
	k.nobody = operators.Output(ctx, nobody)
	return nil
}

func (k *knownUsers) Process(_ *operators.ProcessContext, ev *stream.Event[View], emit func(View) error) error {
	if ev.Value.User == "" {
		return k.nobody(ev)
	}
	return emit(ev.Value)
}

func encodePage(v View, out *stream.Record) error {
	out.Value = append(out.Value, v.Page...)
	return nil
}

// kafkaOf starts a Kafka in memory with topics of one partition that hold the given values.
func kafkaOf(topics map[string][]string) (brokers []string, finish func()) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		panic(err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		panic(err)
	}
	defer cl.Close()
	for topic, values := range topics {
		if err := c.CreateTopic(topic, 1, nil); err != nil {
			panic(err)
		}
		for _, v := range values {
			if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Value: []byte(v)}).FirstErr(); err != nil {
				panic(err)
			}
		}
	}
	return c.ListenAddrs(), c.Close
}

// runExample runs a job whose input ends.
func runExample(g *job.Graph, brokers []string) {
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
		panic(fmt.Sprintf("job %s: %v", g.Name(), err))
	}
}
