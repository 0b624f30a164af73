package jobtest_test

import (
	"errors"
	"reflect"
	"strconv"
	"testing"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/jobtest"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

type View struct {
	User  string `json:"user"`
	Page  string `json:"page"`
	Click bool   `json:"click"`
}

// clicksPerUser is the job of the README: it counts the clicks of each user, and leaves out what is no click.
func clicksPerUser() *job.Graph {
	g := job.New("clicks-per-user")
	views := job.From(g, "views", source.Kafka(source.KafkaOptions{Topics: []string{"views"}}), job.JSON[View](g))
	clicks := job.Via(views, "clicks", operators.Filter(func(v View) bool { return v.Click }))
	byUser := job.KeyBy(clicks, "by-user", func(v View) string { return v.User })
	counts := job.Via(byUser, "count", operators.Count[View]())
	job.To(counts, "counts", sink.Kafka(sink.KafkaOptions{Topic: "counts"}), func(c operators.KeyCount, out *stream.Record) error {
		out.Value = strconv.AppendInt(out.Value, c.Count, 10)
		return nil
	})
	return g
}

func TestClicksSurviveACrash(t *testing.T) {
	c := jobtest.New(t)
	c.Topic("views", 4) // topics that nobody makes have one partition
	c.Produce("views",
		jobtest.KV("ann", `{"user":"ann","page":"/","click":true}`),
		jobtest.KV("bob", `{"user":"bob","page":"/","click":true}`),
		jobtest.KV("bob", `{"user":"bob","page":"/","click":false}`)) // no click: no result

	run := c.Run(clicksPerUser(), jobtest.CrashAt("commit-sent", 2))
	if err := run.Wait(); !errors.Is(err, jobtest.ErrCrashed) {
		t.Fatal(err)
	}
	run = c.Run(clicksPerUser()) // another process, which continues
	if err := run.WaitCommitted(); err != nil {
		t.Fatal(err)
	}
	got := c.Read("counts").ByKey()
	if err := run.Stop(); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, map[string][]string{"ann": {"1"}, "bob": {"1"}}) {
		t.Error(got)
	}
}
