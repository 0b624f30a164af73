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
	for _, bad := range []string{"nonsense", "=1", "checkpoint.intervall=1s", "checkpoint.interval=soon", "parallelism=many"} {
		if err := set(&o, []string{bad}); !isUsage(err) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
