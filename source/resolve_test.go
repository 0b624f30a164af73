package source

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/weirstream/weir/checkpoint"
)

// TestResolve runs the transcripts in testdata/resolve. Commands:
//
//	topic NAME [id=N]          declares a topic; each input line is "PARTITION start=N end=N [high=N] [committed=N] [epoch-end=N]"
//	resolve [option=value...]  resolves; each input line is a restored split "TOPIC PARTITION OFFSET [stop=N] [done] [id=N]";
//	                           the argument "restored" says that there is a checkpoint even if no line follows
func TestResolve(t *testing.T) {
	datadriven.Walk(t, "testdata/resolve", func(t *testing.T, path string) {
		v := view{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "topic":
				id := 1
				d.MaybeScanArgs(t, "id", &id)
				v[d.CmdArgs[0].Key] = parseTopic(t, id, d.Input)
				return ""
			case "resolve":
				return transcribe(t, v, d)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func parseTopic(t *testing.T, id int, input string) *topicView {
	topic := &topicView{id: [16]byte{byte(id)}, partitions: map[int32]*partitionView{}}
	for line := range strings.Lines(input) {
		fields := strings.Fields(line)
		p := &partitionView{startAt: -1, stopAt: -1, epochEnd: -1}
		for _, f := range fields[1:] {
			name, text, _ := strings.Cut(f, "=")
			n := number(t, text)
			switch name {
			case "start":
				p.start = n
			case "end":
				p.readable, p.high = n, max(p.high, n)
			case "high":
				p.high = n
			case "committed":
				p.committed = &groupOffset{offset: n, epoch: 3}
			case "epoch-end":
				p.epochEnd = n
			default:
				t.Fatalf("unknown field %s", name)
			}
		}
		topic.partitions[int32(number(t, fields[0]))] = p
	}
	return topic
}

func transcribe(t *testing.T, v view, d *datadriven.TestData) string {
	var o KafkaOptions
	var restored []checkpoint.Split
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "topics":
			o.Topics = arg.Vals
		case "start":
			o.Start = arg.Vals[0]
		case "stop_at":
			o.StopAt = arg.Vals[0]
		case "on_data_loss":
			o.OnDataLoss = arg.Vals[0]
		case "restored":
			restored = []checkpoint.Split{}
		default:
			t.Fatalf("unknown argument %s", arg.Key)
		}
	}
	o.EnsureDefaults()
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		s := checkpoint.Split{Topic: f[0], TopicID: [16]byte{1}, Partition: int32(number(t, f[1])), Offset: number(t, f[2]), Stop: -1}
		for _, extra := range f[3:] {
			name, text, _ := strings.Cut(extra, "=")
			switch name {
			case "stop":
				s.Stop = number(t, text)
			case "done":
				s.Done = true
			case "id":
				s.TopicID = [16]byte{byte(number(t, text))}
			}
		}
		restored = append(restored, s)
	}
	r, err := resolve(&o, v, restored)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, s := range r.splits {
		fmt.Fprintf(&b, "%s %d from %d", s.Topic, s.Partition, s.Offset)
		if s.Stop >= 0 {
			fmt.Fprintf(&b, " to %d", s.Stop)
		}
		if s.Done {
			b.WriteString(", done")
		}
		b.WriteString("\n")
	}
	for _, loss := range r.passed {
		fmt.Fprintf(&b, "passed: %v\n", loss)
	}
	return b.String()
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	var n int64
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return n
}

func TestValidateReportsEveryMistake(t *testing.T) {
	for _, test := range []struct {
		o    KafkaOptions
		want []string
	}{
		{KafkaOptions{Topics: []string{"a"}}, nil},
		{KafkaOptions{}, []string{"topics: missing: name at least one topic"}},
		{KafkaOptions{Topics: []string{"a", "a", ""}}, []string{"topics: a is listed twice", "topics: the name is empty"}},
		{KafkaOptions{Topics: []string{"a"}, Start: "begin", Isolation: "dirty", StopAt: "noon", OnDataLoss: "cry"}, []string{
			`start: "begin" is not one of earliest, latest, timestamp, group, offsets`, `stop_at: "noon"`, `isolation: "dirty"`, `on_data_loss: "cry"`,
		}},
		{KafkaOptions{Topics: []string{"a"}, Start: "timestamp", StopAt: "offsets"}, []string{
			"start_timestamp: missing (start is timestamp)", "stop_offsets: missing (stop_at is offsets)",
		}},
		{KafkaOptions{Topics: []string{"a"}, StartTimestamp: time.Now(), StartGroup: "g", StopTimestamp: time.Now()}, []string{
			"start_timestamp: needs start: timestamp", "start_group: needs start: group", "stop_timestamp: needs stop_at: timestamp",
		}},
		{KafkaOptions{Topics: []string{"a"}, Start: "offsets", StartOffsets: map[string]map[int32]int64{"b": {0: 1}, "a": {1: -2}}}, []string{
			"start_offsets: topic b is not among the topics", "start_offsets: topic a partition 1: offset -2",
		}},
		{KafkaOptions{Topics: []string{"a"}, FetchMaxBytes: 1, PartitionMaxBytes: -1, FetchMaxWait: time.Hour, MaxBatchRecords: -1}, []string{
			"fetch_max_bytes: 1", "partition_max_bytes: -1", "fetch_max_wait: 1h0m0s", "max_batch_records: -1",
		}},
	} {
		err := Kafka(test.o).Validate()
		if test.want == nil {
			if err != nil {
				t.Errorf("%+v: %v", test.o, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%+v passes", test.o)
			continue
		}
		if got := strings.Split(err.Error(), "\n"); len(got) != len(test.want) {
			t.Errorf("got %q, want %d mistakes", got, len(test.want))
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q lacks %q", err, want)
			}
		}
	}
}
