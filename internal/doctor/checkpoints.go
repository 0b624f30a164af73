package doctor

import (
	"fmt"
	"time"
)

// wanted are the settings without which the checkpoint topic loses pointers (rule 14).
var wanted = []struct{ name, value, why string }{
	{"cleanup.policy", "delete", "compaction would remove pointers"},
	{"retention.ms", "-1", "Kafka would delete the pointers of a job that stands still"},
	{"retention.bytes", "-1", "Kafka would delete pointers that are still needed"},
}

// leastPointer is the size of a pointer with an inline delta as large as the options allow, and a little more.
const leastPointer = 1 << 20

// CheckpointTopic judges the topic of the pointers. If it does not exist, creating says what the brokers answer to a
// request to make it that they only check: nil if they would.
func CheckpointTopic(t *Topic, creating error) []Finding {
	l := list{check: "checkpoint topic"}
	switch {
	case t.Missing && creating != nil:
		l.add(Error, t.subject(), "allow Create on it, or make it: one partition, cleanup.policy=delete, retention.ms=-1, retention.bytes=-1; see checkpoint.topic_replication",
			"it does not exist, and the brokers would not make it: %s", oneLine(creating))
		return l.findings
	case t.Missing:
		l.add(OK, t.subject(), "", "it does not exist; the first start makes it")
		return l.findings
	}
	if !t.there(&l) {
		return l.findings
	}
	for _, w := range wanted {
		if got, ok := t.Settings[w.name]; ok && got != w.value {
			l.add(Error, t.subject(), "set "+w.name+"="+w.value, "%s is %s: %s", w.name, got, w.why)
		}
	}
	if n, ok := t.number("max.message.bytes"); ok && n < leastPointer {
		l.add(Warning, t.subject(), "set max.message.bytes=8388608", "max.message.bytes is %d: a pointer with the largest inline_threshold does not fit", n)
	}
	t.safe(&l, "checkpoints may be lost, and a job that lost its last one does not start")
	t.written(&l)
	if l.silent(t.subject()) {
		l.add(OK, t.subject(), "", "its settings keep every pointer; %s", count(t.Replicas, "replica"))
	}
	return l.findings
}

// LastPointer is what was learnt about the last checkpoint.
type LastPointer struct {
	// None: there is no checkpoint yet.
	None bool
	// Err is why it cannot be read.
	Err error

	Checkpoint int64
	// Written is when, in milliseconds, by the clock of Host.
	Written int64
	Host    string
	Final   bool
	// Unfinished are directories of savepoints that recovery has to finish.
	Unfinished []string

	// Files is the number of files that it lists, Bytes the size of the state with what is inline.
	Files int
	Bytes int64
	// Missing and Damaged name files that are not there, or do not have the size or (Deep) the hash.
	Missing, Damaged []string
	// Lost are offsets of records with inline deltas that the checkpoint topic does not hold any more.
	Lost []int64
	// Deep: every file was read and compared with its hash.
	Deep bool
	// Empty: the storage has no file of the job at all.
	Empty bool
	// FilesErr is why the files could not be looked at.
	FilesErr error
	// Storage says where they are.
	Storage string

	// Group is the checkpoint ID in the group's offset, 0 if there is none, and GroupErr why it is not known. Blocked: an open
	// transaction keeps readers from the end of the topic, so that a later pointer may be there.
	Group    int64
	GroupErr error
	Blocked  bool
}

// Pointer judges the last checkpoint. Now is in milliseconds.
func Pointer(p *LastPointer, now int64) []Finding {
	l := list{check: "last checkpoint"}
	const none = "last checkpoint"
	switch {
	case p.Err != nil:
		l.add(Error, none, "processor checkpoints list shows what there is; go back to a savepoint with --from", "it cannot be read: %s", oneLine(p.Err))
		return l.findings
	case p.Group > 0 && p.None && !p.Blocked:
		l.add(Error, none, "go back to a savepoint with --from, or begin anew with --fresh",
			"there is none, and the group says that checkpoint %d was committed: the checkpoint topic was emptied or made again", p.Group)
		return l.findings
	case p.None:
		l.add(OK, none, "", "there is none: the job begins anew")
		return l.findings
	}
	subject := fmt.Sprintf("checkpoint %d", p.Checkpoint)
	if p.Group > p.Checkpoint && !p.Blocked {
		l.add(Error, subject, "go back to a savepoint with --from", "the group says that checkpoint %d was committed, and the checkpoint topic ends with this one: it lost records", p.Group)
	}
	if p.GroupErr != nil {
		l.findings = append(l.findings, Unknown(l.check, "group", p.GroupErr))
	}
	p.files(&l, subject)
	for _, dir := range p.Unfinished {
		l.add(Note, subject, "", "the savepoint %s is not finished: the next start does it", dir)
	}
	if p.Final {
		l.add(Note, subject, "a run with --fresh begins anew", "the job has reached the end of its input: a start ends at once")
	}
	if l.silent(subject) {
		how := "are in the storage with their size"
		if p.Deep {
			how = "were read and have their hashes"
		}
		written := fmt.Sprintf("written %s ago on %s", about(time.Duration(now-p.Written)*time.Millisecond), p.Host)
		if p.Files == 0 {
			l.add(OK, subject, "", "%s; it has no files: its changes are in the checkpoint topic", written)
		} else {
			l.add(OK, subject, "", "%s; its %s %s", written, count(p.Files, "file"), how)
		}
	}
	return l.findings
}

func (p *LastPointer) files(l *list, subject string) {
	const back = "put the file back, or go back to a savepoint with --from"
	if len(p.Missing) > 0 && p.Empty {
		l.add(Error, subject, "is checkpoint.storage what it was? a directory that is not absolute is below the working directory", "none of its %s is in %s, which has no file of the job", count(p.Files, "file"), p.Storage)
	} else if len(p.Missing) > 0 {
		l.add(Error, subject, back, "of its %s %d are not in %s: %s", count(p.Files, "file"), len(p.Missing), p.Storage, some(p.Missing))
	}
	if len(p.Damaged) > 0 {
		l.add(Error, subject, back, "damaged in %s: %s", p.Storage, some(p.Damaged))
	}
	if len(p.Lost) > 0 {
		l.add(Error, subject, "go back to a savepoint with --from", "the checkpoint topic does not hold the changes any more that it needs, at offset %d", p.Lost[0])
	}
	if p.FilesErr != nil && p.Files > 0 {
		l.findings = append(l.findings, Unknown(l.check, fmt.Sprintf("files of checkpoint %d", p.Checkpoint), p.FilesErr))
	}
}
