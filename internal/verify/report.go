package verify

import (
	"fmt"
	"strings"
)

// Kind is what is wrong with a record of the output: a word that stays the same, for programs.
type Kind string

// The kinds of finding.
const (
	// Lost: the loop computes it and no reader sees it.
	Lost Kind = "lost"
	// Doubled: it is there more often than the loop computes it.
	Doubled Kind = "doubled"
	// Different: in its place stands another one.
	Different Kind = "different"
	// MadeUp: the loop does not compute it.
	MadeUp Kind = "made_up"
	// OutOfOrder: it is there, but not in its place among the records of its key.
	OutOfOrder Kind = "out_of_order"
)

// String is the kind for people.
func (k Kind) String() string { return strings.ReplaceAll(string(k), "_", " ") }

// Kinds lists all kinds, in the order of a report.
var Kinds = []Kind{Lost, Doubled, Different, MadeUp, OutOfOrder}

// Position is a place in a topic.
type Position struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

func (p Position) String() string {
	return fmt.Sprintf("topic %s partition %d offset %d", p.Topic, p.Partition, p.Offset)
}

// Finding is one record of the output that is not as it should be.
type Finding struct {
	Kind  Kind   `json:"kind"`
	Topic string `json:"topic"`
	// Partition is where the record is or ought to be, -1 for any; Offset is -1 for one that is lost.
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
	// Key is nil for a null key.
	Key Key `json:"key"`
	// Want and Got are the beginnings of the values, in quotes; "null" for null, "" if there is none.
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
	// Note says in what two records differ whose values are the same.
	Note string `json:"note,omitempty"`
	// Input is the record of the input that led to what is lost or different; for a result of a window the one that moved
	// event time on. Nil if there is none.
	Input *Position `json:"input,omitempty"`
}

func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: topic %s", f.Kind, f.Topic)
	if f.Partition >= 0 {
		fmt.Fprintf(&b, " partition %d", f.Partition)
	}
	if f.Offset >= 0 {
		fmt.Fprintf(&b, " offset %d", f.Offset)
	}
	b.WriteString(" key " + sample(f.Key))
	if f.Want != "" {
		b.WriteString(": want " + f.Want)
		if f.Got != "" {
			b.WriteString(", got " + f.Got)
		}
	} else if f.Got != "" {
		b.WriteString(": " + f.Got)
	}
	if f.Note != "" {
		b.WriteString(" (" + f.Note + ")")
	}
	if f.Input != nil {
		b.WriteString("; from " + f.Input.String())
	}
	return b.String()
}

// Range is the part of a partition of the input that was computed.
type Range struct {
	Source    string `json:"source"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// From and To are offsets; To is not part of it. Until is where the results end that may be there.
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Until int64 `json:"until"`
}

// Output is what was found in one topic.
type Output struct {
	Topic string `json:"topic"`
	// Expected is how many records must be there, Seen how many are, Equal how many are as they should be.
	Expected int64          `json:"expected"`
	Seen     int64          `json:"seen"`
	Equal    int64          `json:"equal"`
	Findings map[Kind]int64 `json:"findings"`
	// Before counts records that stand before the range and are not judged, Gone results that the topic no longer holds,
	// Pending results of the newest checkpoints that need not be there yet, Undecided records of keys that differ in a way
	// that may be their partitions' interleaving.
	Before    int64 `json:"before"`
	Gone      int64 `json:"gone"`
	Pending   int64 `json:"pending"`
	Undecided int64 `json:"undecided"`
}

// Doubt says why the results of a key depend on more than the input. It is reported only where a difference was found.
type Doubt struct {
	Operator string `json:"operator"`
	Reason   string `json:"reason"`
	// Key is an example.
	Key  Key   `json:"key"`
	Keys int64 `json:"keys"`
	// Examples are the first differences that are not judged.
	Examples []Finding `json:"examples"`
}

// Report is the outcome of a verification.
type Report struct {
	Job     string `json:"job"`
	Lineage string `json:"lineage"`
	// Checkpoint is the last one whose results must be there, Until the last one whose results may be.
	Checkpoint int64 `json:"checkpoint"`
	Until      int64 `json:"until"`
	// From is the savepoint that the verification began from.
	From string `json:"from,omitempty"`
	// Began is the checkpoint with which the range begins: that of the savepoint, or the first of the lineage; 0 if the topic
	// does not say it any more.
	Began   int64     `json:"began,omitempty"`
	Last    bool      `json:"last,omitempty"`
	Ranges  []Range   `json:"ranges"`
	Outputs []*Output `json:"outputs"`
	// Records is how many records of the input were computed, BadRecords how many of them were skipped or went to a
	// dead-letter topic.
	Records    int64 `json:"records"`
	BadRecords int64 `json:"bad_records"`
	// Examples are the first findings of each kind.
	Examples []Finding `json:"examples"`
	Doubts   []*Doubt  `json:"doubts"`
	// Notes are worth knowing when there are findings.
	Notes []string `json:"notes,omitempty"`
}

// Count is how many findings of a kind there are.
func (r *Report) Count(k Kind) (n int64) {
	for _, o := range r.Outputs {
		n += o.Findings[k]
	}
	return n
}

// Err is nil if the output is what the loop computes: else *[DifferentError], or, if all that differs may be due to
// interleaving, *[Refused].
func (r *Report) Err() error {
	var found []string
	for _, k := range Kinds {
		if n := r.Count(k); n > 0 {
			found = append(found, fmt.Sprintf("%d %s", n, k))
		}
	}
	if len(found) > 0 {
		return &DifferentError{Job: r.Job, Found: strings.Join(found, ", "), Since: r.Began}
	}
	if len(r.Doubts) > 0 {
		d := r.Doubts[0]
		return &Refused{Operator: d.Operator, Reason: fmt.Sprintf("the results of %d keys, such as %s, differ, and %s", d.Keys, sample(d.Key), d.Reason)}
	}
	return nil
}

// DifferentError says that the output is not what the loop computes.
type DifferentError struct {
	Job, Found string
	// Since is the checkpoint with which the range begins, 0 if it is not known.
	Since int64
}

// Error asks for the cause that is no fault: the loop knows the job only as it is now.
func (e *DifferentError) Error() string {
	since := "its lineage began"
	if e.Since > 0 {
		since = fmt.Sprintf("checkpoint %d", e.Since)
	}
	return fmt.Sprintf("job %s: the output differs from what a plain loop over the input computes: %s; is this the job, unchanged, that has run since %s? if not: --from a savepoint that it took since the change", e.Job, e.Found, since)
}

// Refused says that a job cannot be verified.
type Refused struct {
	// Operator is the operator whose results depend on more than the input, "" if that is not the reason.
	Operator string
	Reason   string
}

func (e *Refused) Error() string {
	if e.Operator == "" {
		return "verify: " + e.Reason
	}
	return fmt.Sprintf("verify: operator %s: %s", e.Operator, e.Reason)
}

func refuse(operator, format string, args ...any) error {
	return &Refused{Operator: operator, Reason: fmt.Sprintf(format, args...)}
}
