package checkpoint

import (
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

func TestDefaultsAreValid(t *testing.T) {
	var o Options
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	if o.Interval != 200*time.Millisecond || o.Memory != 512*MiB || *o.TolerableFailures != 5 || o.TopicReplication != -1 {
		t.Errorf("%+v", o)
	}
	if err := o.CheckTimeouts(15 * time.Minute); err != nil {
		t.Error(err)
	}
}

func TestOptionsComeFromYAML(t *testing.T) {
	var o Options
	text := `
interval: 1s
tolerable_failures: 0
memory: 1GiB
inline_threshold: 4096
base_after: 8 MB
mode: at_least_once
restart: {strategy: fixed_delay, attempts: 3, delay: 2s}
`
	if err := yaml.UnmarshalWithOptions([]byte(text), &o, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	if o.Interval != time.Second || *o.TolerableFailures != 0 || o.Memory != GiB || o.InlineThreshold != 4096 || o.BaseAfter != 8_000_000 ||
		o.Mode != AtLeastOnce || o.Restart.Attempts != 3 || o.Restart.Delay != 2*time.Second {
		t.Errorf("%+v", o)
	}
}

func TestEveryMistakeIsReportedAtOnce(t *testing.T) {
	o := Options{Interval: -1, Timeout: -1, MinPause: -1, MaxConcurrent: 4, TolerableFailures: new(-1), Retained: -1, Memory: 1, BaseAfter: -1, Mode: "twice",
		InlineThreshold: GiB, KeyGroups: 1 << 20, Prefix: "a b", TopicReplication: -7, Restart: RestartOptions{Strategy: "sometimes", Attempts: -1, BackoffMultiplier: 0.5}}
	o.EnsureDefaults()
	err := o.Validate()
	if err == nil {
		t.Fatal("valid")
	}
	for _, name := range []string{"interval", "timeout", "min_pause", "max_concurrent", "tolerable_failures", "retained", "memory", "base_after", "mode", "inline_threshold",
		"key_groups", "prefix", "topic_replication", "restart: strategy", "restart: attempts", "restart: backoff_multiplier"} {
		if !strings.Contains(err.Error(), name+": ") {
			t.Errorf("%s is not reported:\n%v", name, err)
		}
	}
}

// C07: one sentence that names the values.
func TestTransactionTimeoutsAreCheckedAgainstTheBroker(t *testing.T) {
	for _, tc := range []struct {
		name      string
		change    func(*Options)
		brokerMax time.Duration
		want      string
	}{
		{"the broker allows less", func(*Options) {}, time.Minute,
			"transaction_timeout: 1m30s is more than the broker allows: its transaction.max.timeout.ms is 60000 (1m0s)"},
		{"a long interval", func(o *Options) { o.Interval = time.Hour }, 2 * time.Hour,
			"transaction_timeout: 1m30s is too short: a transaction can be open for 1h0m30s, which is max(interval 1h0m0s, timeout 30s + min_pause 0s) + timeout 30s: raise transaction_timeout or lower those"},
		{"exactly as long", func(o *Options) { o.TransactionTimeout = time.Minute }, time.Hour,
			"transaction_timeout: 1m0s is too short: a transaction can be open for 1m0s, which is max(interval 200ms, timeout 30s + min_pause 0s) + timeout 30s: raise transaction_timeout or lower those"},
		{"several in flight are no longer open", func(o *Options) { o.MaxConcurrent = 3 }, 15 * time.Minute, ""},
	} {
		var o Options
		o.EnsureDefaults()
		tc.change(&o)
		got := ""
		if err := o.CheckTimeouts(tc.brokerMax); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

func TestBytesReadBackAsTheSameNumber(t *testing.T) {
	for _, b := range []Bytes{0, 1, 1023, KiB, 20 * KiB, 512 * MiB, 3 * GiB, MiB + 1, 1<<62 + 1} {
		text, _ := b.MarshalText()
		var got Bytes
		if err := got.UnmarshalText(text); err != nil || got != b {
			t.Errorf("%d: %s: %d, %v", b, text, got, err)
		}
	}
	for _, text := range []string{"", "many", "-1", "1 XiB", "99999999999EiB"} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %d", text, b)
		}
	}
}

func TestNamesInKafka(t *testing.T) {
	var o Options
	o.EnsureDefaults()
	if got := o.Topic("clicks"); got != "weir.clicks.checkpoints" {
		t.Error(got)
	}
	if got := o.TransactionalID("clicks", 0, Slot(42)); got != "weir.clicks.0.2" {
		t.Error(got)
	}
	if got := o.GroupID("clicks"); got != "clicks" {
		t.Error(got)
	}
}
