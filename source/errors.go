package source

import (
	"encoding/hex"
	"fmt"
)

// MissingTopicError says that a topic does not exist. A restart does not mend it.
type MissingTopicError struct{ Topic string }

func (e *MissingTopicError) Error() string {
	return fmt.Sprintf("topic %s does not exist", e.Topic)
}

// TopicRecreatedError says that a topic was deleted and made again: its offsets mean other records now. A restart does
// not mend it.
type TopicRecreatedError struct {
	Topic string
	// Was is the topic's ID in the checkpoint or at the start, Is the one it has now.
	Was, Is [16]byte
}

func (e *TopicRecreatedError) Error() string {
	return fmt.Sprintf("topic %s was deleted and made again (its ID was %s, it is %s): offsets of the old one do not apply",
		e.Topic, hex.EncodeToString(e.Was[:]), hex.EncodeToString(e.Is[:]))
}

// LossKind tells how records got lost.
type LossKind int

const (
	// LossExpired: retention or a deletion moved the start of the log past the offset.
	LossExpired LossKind = iota
	// LossTruncated: the log ends before the offset, or has other records there than those that were read.
	LossTruncated
)

// DataLossError says that an offset to read from does not exist any more. A restart does not mend it.
type DataLossError struct {
	Kind      LossKind
	Topic     string
	Partition int32
	Offset    int64
	// LogStart is the first offset of the log (LossExpired); LogEnd is where the log, or the leader epoch of the last
	// record that was read, ends (LossTruncated).
	LogStart, LogEnd int64
}

func (e *DataLossError) Error() string {
	at := fmt.Sprintf("topic %s partition %d: offset %d", e.Topic, e.Partition, e.Offset)
	if e.Kind == LossTruncated {
		return fmt.Sprintf("%s is beyond the end of what the log kept (%d): the log was cut, records that were read are lost"+
			" (an unclean leader election does this)", at, e.LogEnd)
	}
	return fmt.Sprintf("%s is gone (the log starts at %d): records expired before they were read; see on_data_loss", at, e.LogStart)
}

// RestoreError says that a restored split does not fit the options or the topic. A restart does not mend it.
type RestoreError struct {
	Topic     string
	Partition int32
	Reason    string
}

func (e *RestoreError) Error() string {
	return fmt.Sprintf("restore: topic %s partition %d: %s", e.Topic, e.Partition, e.Reason)
}

// OptionError says that an option does not fit the topic, which is seen only at the start. A restart does not mend it.
type OptionError struct {
	Option, Topic string
	Partition     int32
	Reason        string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("%s: topic %s partition %d: %s", e.Option, e.Topic, e.Partition, e.Reason)
}

// CorruptError says that what a broker sent cannot be decoded.
type CorruptError struct {
	Topic     string
	Partition int32
	// Offset is the first one of the record batch.
	Offset int64
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("topic %s partition %d: record batch at offset %d: %s", e.Topic, e.Partition, e.Offset, e.Reason)
}
