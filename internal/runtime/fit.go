package runtime

import "github.com/weirstream/weir/checkpoint"

// Fit is what a start of a job from a savepoint would do, found out without disturbing anybody.
type Fit struct {
	Job string `json:"job"`
	// Of is the job whose savepoint it is.
	Of string `json:"savepoint_of"`
	// Savepoint is the savepoint's ID, or "checkpoint:<id>"; Checkpoint, Time (milliseconds since the Unix epoch) and Lineage
	// are those of its checkpoint.
	Savepoint  string `json:"savepoint"`
	Checkpoint int64  `json:"checkpoint"`
	Time       int64  `json:"time"`
	Lineage    string `json:"lineage"`
	// Fits says whether the job would start, Findings why not, and Begins, in a sentence, what it would begin from.
	Fits     bool     `json:"fits"`
	Findings []string `json:"findings"`
	Begins   string   `json:"begins,omitempty"`
	// Dropped says what is not taken over, one sentence each, and what follows from it.
	Dropped []string `json:"dropped"`
	// CarriedOut: the job's lineage has begun from this savepoint already, so that a start goes on unless it says --again.
	CarriedOut bool        `json:"carried_out"`
	States     []FitState  `json:"states"`
	Splits     []FitSplit  `json:"splits"`
	Last       *FitLast    `json:"last_checkpoint,omitempty"`
	Output     []FitOutput `json:"output"`
	err        error       // the refusal
	resolved   *checkpoint.Resolution
}

// Err is the refusal with which a start would end, nil if the savepoint fits.
func (f *Fit) Err() error { return f.err }

// Outcome is what becomes of a state: a word that stays the same, for programs.
type Outcome string

// The outcomes.
const (
	Restored     Outcome = "restored"
	Dropped      Outcome = "dropped"
	Incompatible Outcome = "incompatible"
	BeginsEmpty  Outcome = "new"
)

// String is the outcome for people.
func (o Outcome) String() string {
	switch o {
	case Incompatible:
		return "does not fit"
	case BeginsEmpty:
		return "new, begins empty"
	}
	return string(o)
}

// FitState is one state of the savepoint, or one that the job has and the savepoint has not.
type FitState struct {
	Operator string  `json:"operator"`
	State    string  `json:"state"`
	Kind     string  `json:"kind"`
	Type     string  `json:"type"`
	Outcome  Outcome `json:"outcome"`
	Why      string  `json:"why,omitempty"`
	// New are fields and columns of a restored state that the savepoint has no data for, Gone those that the job has not any more.
	New  []string `json:"new,omitempty"`
	Gone []string `json:"gone,omitempty"`
}

// FitSplit is where a partition would be read from.
type FitSplit struct {
	Source    string `json:"source"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	// End is the end of the partition; -1 if it is not known. What lies between counts markers of transactions too.
	End int64 `json:"end"`
	// Again is how many of the offsets behind Offset the job's last checkpoint has read: they are read again. Skipped is how
	// many it had still to read that are not read any more. Both are 0 if the job has no checkpoint, but for a partition that the
	// savepoint has read by a source that is gone: what that has read is read again.
	Again   int64 `json:"again"`
	Skipped int64 `json:"skipped"`
	// New: the savepoint does not know the partition; Dropped: its source, or the topic of the source, is gone.
	New     bool `json:"new,omitempty"`
	Dropped bool `json:"dropped,omitempty"`
}

// FitLast is the last checkpoint of the job.
type FitLast struct {
	Checkpoint int64  `json:"checkpoint"`
	Time       int64  `json:"time"`
	Lineage    string `json:"lineage"`
	// Same: the savepoint is of the same lineage. Since is then how many checkpoints were committed after it.
	Same  bool  `json:"same_lineage"`
	Since int64 `json:"since"`
}

// FitOutput is what stands in a topic that the job writes, stamped at the time of the savepoint or later. The stamps are those
// of the records, which are not always the time of writing.
type FitOutput struct {
	Topic string `json:"topic"`
	// Offsets counts records and markers of transactions, from the first that is stamped so to the end.
	Offsets int64 `json:"offsets"`
}
