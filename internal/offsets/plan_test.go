package offsets

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
)

func at(topic string, partition int32) Partition { return Partition{topic, partition} }

func split(topic string, partition int32, offset int64) checkpoint.Split {
	return checkpoint.Split{Topic: topic, Partition: partition, Offset: offset, LeaderEpoch: 2, TopicID: checkpoint.TopicID{1}}
}

func pointer(splits ...checkpoint.Split) *checkpoint.Pointer {
	return &checkpoint.Pointer{Job: "clicks", Sources: []checkpoint.Source{{Name: "views", Splits: splits}}}
}

func TestPlanSaysWhatEachOffsetBecomes(t *testing.T) {
	topics := map[string]*Topic{"views": {ID: checkpoint.TopicID{1}, Logs: map[int32]kafka.Log{0: {Start: 0, End: 200}, 1: {Start: 60, End: 200}, 2: {Start: 0, End: 200}, 3: {Start: 0, End: 200}}}}
	committed := map[Partition]Committed{at("views", 0): {Offset: 150}, at("views", 1): {Offset: 100}, at("views", 2): {Offset: 10}}
	p := pointer(split("views", 3, 7), split("views", 0, 100), split("views", 1, 50), split("views", 2, 10))
	// Another source reads one of them too, and is behind.
	p.Sources = append(p.Sources, checkpoint.Source{Name: "again", Splits: []checkpoint.Split{split("views", 0, 90), split("views", 3, 8)}})
	got, err := Plan(p, committed, topics)
	want := []Change{
		{"views", 0, 150, 90, 2, 0, 200, "reads 60 again"},
		{"views", 1, 100, 50, 2, 60, 200, "expired: the log starts at 60"},
		{"views", 2, 10, 10, 2, 0, 200, "stays"},
		{"views", 3, -1, 7, 2, 0, 200, ""},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v\nwant %v", got, err, want)
	}
	committed[at("views", 0)] = Committed{Offset: 5}
	if got, _ = Plan(p, committed, topics); got[0].Note != "skips 85" {
		t.Errorf("%+v", got[0])
	}
}

func TestPlanReportsEveryMistake(t *testing.T) {
	topics := map[string]*Topic{
		"views": {ID: checkpoint.TopicID{1}, Logs: map[int32]kafka.Log{0: {Start: 0, End: 200}}},
		"other": {ID: checkpoint.TopicID{9}, Logs: map[int32]kafka.Log{0: {Start: 0, End: 200}, 1: {Start: 0, End: 200}}}, "gone": nil,
	}
	_, err := Plan(pointer(split("views", 0, 201), split("views", 1, 3), split("other", 0, 1), split("other", 1, 1), split("gone", 0, 1)), nil, topics)
	want := []string{
		"topic gone: it does not exist on this cluster",
		"topic other: it was deleted and made again since the savepoint: its offsets mean other records",
		"views/0: offset 201 is beyond the end of the log (200)",
		"views/1: the topic has only 1 partitions",
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("%v", err)
	}
	if _, err := Plan(pointer(), nil, nil); err == nil {
		t.Error("a savepoint without offsets")
	}
}

func TestTheGroupOfAJobIsRecognised(t *testing.T) {
	for what, c := range map[string]struct {
		committed map[Partition]Committed
		topic     string
		weir      bool
	}{
		"a job's":               {map[Partition]Committed{at("weir.clicks.checkpoints", 0): {7, "41"}, at("views", 0): {100, "weir:41"}}, "weir.clicks.checkpoints", true},
		"its topic was deleted": {map[Partition]Committed{at("views", 0): {100, "weir:41"}}, "", true},
		"somebody else's":       {map[Partition]Committed{at("views", 0): {100, "41"}, at("orders", 0): {100, ""}}, "", false},
		"one that reads the checkpoint topic": {
			map[Partition]Committed{at("weir.clicks.checkpoints", 0): {7, ""}, at("views", 0): {100, "weir: x"}}, "", false},
		"none": {nil, "", false},
	} {
		if topic, weir := Recognise(c.committed); topic != c.topic || weir != c.weir {
			t.Errorf("%s: %q, %v", what, topic, weir)
		}
	}
}

func TestRowsPutTheCheckpointBesideTheGroup(t *testing.T) {
	committed := map[Partition]Committed{at("weir.clicks.checkpoints", 0): {7, "41"}, at("views", 0): {100, "weir:41"}, at("old", 0): {5, ""}}
	logs := map[Partition]kafka.Log{at("views", 0): {Start: 0, End: 150}, at("views", 1): {Start: 20, End: 30}}
	got := Rows(committed, pointer(split("views", 0, 120), split("views", 1, 10)), logs)
	want := []Row{
		{"", "old", 0, 5, nil, -1, -1, -1},
		{"", "views", 0, 100, new(int64(120)), 0, 150, 30},
		{"", "views", 1, -1, new(int64(10)), 20, 30, 10},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := Rows(committed, nil, logs); len(got) != 2 || got[1].Lag != 50 || got[1].Checkpoint != nil {
		t.Errorf("without a checkpoint: %+v", got)
	}
}
