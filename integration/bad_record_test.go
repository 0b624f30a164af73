//go:build integration

package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

const notJSON = `{"key": "k0001", "n": oops`

// produceBad writes 100 good records, a bad one to partition 1, and 100 more good ones; it returns the bad one's offset.
func (j *sumsJob) produceBad(t *testing.T) int64 {
	t.Helper()
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 10}
	j.cluster.ProduceNumbers(t, j.in, numbers, 0, 100)
	bad := &kgo.Record{Topic: j.in, Partition: 1, Key: []byte("k0001"), Value: []byte(notJSON), Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("abc")}}}
	j.cluster.ProduceTo(t, bad)
	j.cluster.ProduceNumbers(t, j.in, numbers, 100, 200)
	return bad.Offset
}

func TestRecordThatIsNotJSONStopsTheJobAndIsNamed(t *testing.T) {
	j := newSums(t, shared(t))
	offset := j.produceBad(t)
	p := j.program(t).Start(t)
	if code := p.Exit(20 * time.Second); code != cli.ExitBadRecord {
		t.Errorf("exit code %d, want %d", code, cli.ExitBadRecord)
	}
	oneLine(t, p, j.in, "partition 1", "offset "+itoa(offset), "oops")
}

func TestRecordThatIsNotJSONIsCountedAndSkipped(t *testing.T) {
	j := newSums(t, shared(t))
	j.source = append(j.source, "on_bad_record: skip")
	j.produceBad(t)
	p := j.start(t)
	j.waitForOutput(t, 200, 20*time.Second)
	harness.Until(t, 10*time.Second, "the record is counted", func() (bool, string) {
		_, page := harness.Get(j.address, "/metrics")
		n, _ := harness.Metric(page, "weir_bad_records_total")
		return n == 1, linesWith(page, "bad")
	})
	j.stop(t, p)
}

func TestRecordThatIsNotJSONGoesToTheDeadLetterTopicWithItsOrigin(t *testing.T) {
	j := newSums(t, shared(t))
	dead := j.cluster.Topic(t, "dead", 1)
	j.source = append(j.source, "on_bad_record: dead_letter", "dead_letter_topic: "+dead)
	offset := j.produceBad(t)
	p := j.start(t)
	j.waitForOutput(t, 200, 20*time.Second)
	j.stop(t, p)

	letters := j.cluster.Read(t, dead)[0]
	if len(letters) != 1 {
		t.Fatalf("%d dead letters, want 1", len(letters))
	}
	letter := letters[0]
	if string(letter.Key) != "k0001" || string(letter.Value) != notJSON {
		t.Errorf("the letter is %q %q, want the record as it came", letter.Key, letter.Value)
	}
	headers := map[string]string{}
	for _, h := range letter.Headers {
		headers[h.Key] = string(h.Value)
	}
	if headers["trace"] != "abc" {
		t.Error("the record's own header is gone")
	}
	all := ""
	for key, value := range headers {
		all += key + "=" + value + "\n"
	}
	for _, want := range []string{j.in, "=1\n", "=" + itoa(offset) + "\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the headers:\n%s", want, all)
		}
	}
}
