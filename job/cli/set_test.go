package cli

import (
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
)

func TestSetChangesOneValueOfAProgramsOptions(t *testing.T) {
	o := job.Options{Parallelism: 3, Kafka: job.Kafka{Brokers: []string{"a:1"}, ClientID: "me"}}
	o.Checkpoint.Timeout = time.Minute
	err := set(&o, []string{
		"checkpoint.interval=1s", "checkpoint.memory=64MiB", "kafka.brokers=[b:1, c:2]", "checkpoint.restart.strategy=none", "http.address=off",
		"kafka.sasl.password=p: #x",
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.Parallelism != 3 || o.Kafka.ClientID != "me" || o.Checkpoint.Timeout != time.Minute {
		t.Errorf("what was not named has changed: %+v", o)
	}
	if o.Checkpoint.Interval != time.Second || o.Checkpoint.Memory != 64*checkpoint.MiB || len(o.Kafka.Brokers) != 2 ||
		o.Checkpoint.Restart.Strategy != checkpoint.RestartNone || o.HTTP.Address != "off" {
		t.Errorf("%+v", o)
	}
	for assignment, want := range map[string]string{
		"checkpoint.intervall=1s":  `--set checkpoint.intervall: checkpoint: unknown field "intervall" (did you mean "interval"?)`,
		"checkpoint.interval=soon": `--set checkpoint.interval: checkpoint.interval: want a duration, such as 200ms, 5s or 1h, got "soon"`,
		"source.in.topics=a":       `--set source.in.topics=a: the steps of this job are code: --set changes its job.Options only`,
		"nonsense":                 `--set nonsense: want path=value, such as checkpoint.interval=1s`,
	} {
		if err := set(&o, []string{assignment}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", assignment, err, want)
		}
	}
	for _, bad := range []string{"nonsense", "=1", "checkpoint.intervall=1s", "checkpoint.interval=soon", "parallelism=many"} {
		if err := set(&o, []string{bad}); !isUsage(err) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
