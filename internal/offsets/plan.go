package offsets

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
)

// Partition names a partition of a topic.
type Partition struct {
	Topic     string
	Partition int32
}

func (p Partition) String() string { return fmt.Sprintf("%s/%d", p.Topic, p.Partition) }

// compare orders partitions by topic and number.
func compare(a, b Partition) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// Committed is an offset that a group has committed.
type Committed struct {
	Offset   int64
	Metadata string
}

// Row is the offset of one partition of a group.
type Row struct {
	// Cluster is where the topic is, if that is not the job's own cluster.
	Cluster   string `json:"cluster,omitempty"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// Committed is the group's offset, -1 if it has none.
	Committed int64 `json:"committed"`
	// Checkpoint is the offset in the job's last pointer, which is the truth for a Weir job; nil for other groups.
	Checkpoint *int64 `json:"checkpoint,omitempty"`
	// Start and End are those of the log, -1 if they are not known; Lag is how many offsets before End are not read.
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	Lag   int64 `json:"lag"`
}

// Rows puts beside each other what the group has committed, what the last pointer says (nil if there is none), and the logs.
// Of two sources that read the same partition the one that is behind counts. A job's checkpoint topic is left out.
func Rows(committed map[Partition]Committed, last *checkpoint.Pointer, logs map[Partition]kafka.Log) []Row {
	rows := map[Partition]*Row{}
	row := func(p Partition) *Row {
		if rows[p] == nil {
			rows[p] = &Row{Topic: p.Topic, Partition: p.Partition, Committed: -1, Start: -1, End: -1, Lag: -1}
		}
		return rows[p]
	}
	for p, c := range committed {
		if !ownMark(p.Topic, c.Metadata) {
			row(p).Committed = c.Offset
		}
	}
	if last != nil {
		for p, s := range splits(last) {
			row(p).Checkpoint = new(s.Offset)
		}
	}
	var out []Row
	for _, p := range slices.SortedFunc(maps.Keys(rows), compare) {
		r := rows[p]
		if log, ok := logs[p]; ok {
			r.Start, r.End = log.Start, log.End
			at := r.Committed
			if r.Checkpoint != nil {
				at = *r.Checkpoint
			}
			if at >= 0 {
				r.Lag = max(log.End-max(at, log.Start), 0)
			}
		}
		out = append(out, *r)
	}
	return out
}

// splits are those of a pointer by partition. Of two sources that read the same one the offset that is behind counts, so that
// nothing is skipped.
func splits(p *checkpoint.Pointer) map[Partition]checkpoint.Split {
	out := map[Partition]checkpoint.Split{}
	for _, src := range p.Sources {
		for _, s := range src.Splits {
			at := Partition{s.Topic, s.Partition}
			if was, ok := out[at]; !ok || s.Offset < was.Offset {
				out[at] = s
			}
		}
	}
	return out
}

// Change is what a reset does to one partition.
type Change struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// Before is what the group has committed, -1 for nothing; After the savepoint's offset.
	Before int64 `json:"before"`
	After  int64 `json:"after"`
	// LeaderEpoch is that of the record before After, -1 if it is not known.
	LeaderEpoch int32 `json:"-"`
	Start       int64 `json:"start"`
	End         int64 `json:"end"`
	// Note says what a person should know, "" for nothing.
	Note string `json:"note,omitempty"`
}

// Topic is what the brokers say of a topic: its ID and its logs.
type Topic struct {
	ID   checkpoint.TopicID
	Logs map[int32]kafka.Log
}

// Same reports whether the topic is the one of an ID, as far as both are known.
func (t *Topic) Same(id checkpoint.TopicID) bool {
	none := checkpoint.TopicID{}
	return t.ID == none || id == none || t.ID == id
}

// Plan says what setting a group's offsets to those of a savepoint changes. topics has every topic that the savepoint reads;
// one that is nil does not exist. Topics that were made again, and offsets beyond the end of a log, are mistakes, all of them
// reported: such an offset does not mean the record that it did.
func Plan(p *checkpoint.Pointer, committed map[Partition]Committed, topics map[string]*Topic) ([]Change, error) {
	var out []Change
	var errs []error
	wrong := map[string]bool{}
	all := splits(p)
	for _, at := range slices.SortedFunc(maps.Keys(all), compare) {
		s, t := all[at], topics[at.Topic]
		if t == nil || !t.Same(s.TopicID) {
			if !wrong[at.Topic] {
				wrong[at.Topic] = true
				what := "it was deleted and made again since the savepoint: its offsets mean other records"
				if t == nil {
					what = "it does not exist on this cluster"
				}
				errs = append(errs, fmt.Errorf("topic %s: %s", at.Topic, what))
			}
			continue
		}
		log, ok := t.Logs[at.Partition]
		c := Change{Topic: at.Topic, Partition: at.Partition, Before: -1, After: s.Offset, LeaderEpoch: s.LeaderEpoch, Start: log.Start, End: log.End}
		if was, ok := committed[at]; ok {
			c.Before = was.Offset
		}
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%s: the topic has only %d partitions", at, len(t.Logs)))
		case s.Offset > log.End:
			errs = append(errs, fmt.Errorf("%s: offset %d is beyond the end of the log (%d)", at, s.Offset, log.End))
		case s.Offset < log.Start:
			c.Note = fmt.Sprintf("expired: the log starts at %d", log.Start)
		case c.Before == c.After:
			c.Note = "stays"
		case c.Before > c.After:
			c.Note = fmt.Sprintf("reads %d again", c.Before-c.After)
		case c.Before >= 0:
			c.Note = fmt.Sprintf("skips %d", c.After-c.Before)
		}
		out = append(out, c)
	}
	if len(all) == 0 {
		errs = append(errs, errors.New("the savepoint has no offsets"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// Recognise says whether a group is a Weir job's own, by what it has committed: each checkpoint commits, in its transaction, an
// offset for its checkpoint partition with the checkpoint ID as metadata (rule 11), and marks those of the sources. topic is the
// checkpoint topic, "" if only the marks tell.
func Recognise(committed map[Partition]Committed) (topic string, weir bool) {
	for p, c := range committed {
		if ownMark(p.Topic, c.Metadata) {
			return p.Topic, true
		}
		if _, ok := sink.MarkedCheckpoint(c.Metadata); ok {
			weir = true
		}
	}
	return "", weir
}

// ownMark reports whether an offset is that of a checkpoint partition.
func ownMark(topic, metadata string) bool {
	_, err := strconv.ParseInt(metadata, 10, 64)
	return err == nil && strings.HasSuffix(topic, ".checkpoints")
}

// IsJobError says that a group is a Weir job's, so that setting its offsets changes nothing.
type IsJobError struct{ Group, Job, Why, Savepoint string }

func (e *IsJobError) Error() string {
	return fmt.Sprintf("group %s is that of the Weir job %s (%s): the job goes on from its checkpoint, whatever its group has committed; to take it back use run JOB --from %s", e.Group, e.Job, e.Why, e.Savepoint)
}

// Member is a member of a group.
type Member struct {
	ID     string `json:"id"`
	Client string `json:"client"`
	Host   string `json:"host"`
}

func (m Member) String() string {
	return fmt.Sprintf("%s (client %s on %s)", m.ID, m.Client, strings.TrimPrefix(m.Host, "/"))
}

// ActiveError says that a group has members: their commits would undo what is set.
type ActiveError struct {
	Group   string
	Members []Member
}

func (e *ActiveError) Error() string {
	names := make([]string, len(e.Members))
	for i, m := range e.Members {
		names[i] = m.String()
	}
	if len(names) > 5 {
		names = append(names[:5:5], fmt.Sprintf("%d more", len(names)-5))
	}
	return fmt.Sprintf("group %s has active members: %s: stop them first", e.Group, strings.Join(names, ", "))
}
