package job_test

import (
	"strings"
	"testing"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

// A start that asks for more subtasks than there are key groups is a mistake of the options: it is told before anything is
// opened, so that a job of the name that runs is not disturbed.
func TestMoreSubtasksThanKeyGroupsAreRefusedBeforeAnythingIsOpened(t *testing.T) {
	build := func(opts ...job.Option) *job.Graph {
		g := job.New("copy")
		in := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"a"}}), job.Raw, opts...)
		job.To(in, "out", sink.Kafka(sink.KafkaOptions{Topic: "b"}), job.RawOut, opts...)
		return g
	}
	for _, c := range []struct {
		graph       *job.Graph
		parallelism int
		want        string
	}{
		{build(), 128, ""},
		{build(), 129, "job copy: parallelism 129 is more than the 128 key groups of the job (checkpoint.key_groups)"},
		{build(job.Parallelism(129)), 1, "job copy: step in: parallelism 129 is more than the 128 key groups"},
		{build(job.Parallelism(2)), 129, ""},
	} {
		_, err := c.graph.Prepare(job.Options{Kafka: job.Kafka{Brokers: []string{"nobody:1"}}, Parallelism: c.parallelism})
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("parallelism %d: %v; want %s", c.parallelism, err, c.want)
		}
	}
}
