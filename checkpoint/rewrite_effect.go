package checkpoint

// EffectKind says what an [Effect] is: a word that stays the same, for programs.
type EffectKind string

const (
	// EffectReadAgain and EffectSkip are splits that were moved back or forward; EffectStay is one that is where it was.
	EffectReadAgain EffectKind = "read_again"
	EffectSkip      EffectKind = "skip"
	EffectStay      EffectKind = "stay"
	// EffectTwice: state takes records a second time, or results are written a second time.
	EffectTwice EffectKind = "twice"
	// EffectLate: records that are read again may be late.
	EffectLate EffectKind = "late"
	// EffectTime: event time begins anew.
	EffectTime EffectKind = "time"
	// EffectTopic: the offsets are those of a topic that was made again.
	EffectTopic EffectKind = "topic"
	// EffectGoesOn: the savepoint is not at the end of the input any more.
	EffectGoesOn EffectKind = "goes_on"
	// EffectDrained: nothing goes on from it.
	EffectDrained EffectKind = "drained"
	EffectDrop    EffectKind = "drop"
	EffectRename  EffectKind = "rename"
	// EffectKeys: what the keys of an operator are is not compared.
	EffectKeys EffectKind = "keys"
)

// Effect is one thing that a rewritten savepoint does differently.
type Effect struct {
	Kind EffectKind `json:"kind"`
	// Split is set for the first three kinds.
	Split *MovedSplit `json:"split,omitempty"`
	// Step is the operator, source or sink, and State its state, "" where none is meant.
	Step  string `json:"step,omitempty"`
	State string `json:"state,omitempty"`
	// Text is one line that says it to a person.
	Text string `json:"text"`
}

// MovedSplit is a split with the offset that it had and the one that it has.
type MovedSplit struct {
	Source    string `json:"source"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	To        int64  `json:"to"`
	// Records are those between the two: at most so many, since not every offset needs to be a record. With a Log only those
	// that it has are counted.
	Records int64     `json:"records"`
	Log     *LogRange `json:"log,omitempty"`
}
