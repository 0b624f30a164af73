package doctor

import (
	"fmt"
	"strings"
	"time"
)

// Position is where the last checkpoint stands in one partition of a source, and what the log holds.
type Position struct {
	Partition int32
	// Offset is the next to be read; Start and End are the log's.
	Offset, Start, End int64
	// Next is the timestamp of the record at Offset, in milliseconds; 0 if there is none or it is not known.
	Next int64
	// Done: the source has an end, and it is reached.
	Done bool
}

// SourceUse is how a source reads a topic.
type SourceUse struct {
	// SkipsLoss: on_data_loss is earliest.
	SkipsLoss bool
	// Started: there is a checkpoint, and Positions are its. OldID is the topic's ID in it.
	Started   bool
	OldID     [16]byte
	Positions []Position
}

// Source judges a topic that the job reads. Now is in milliseconds.
func Source(t *Topic, u SourceUse, now int64) []Finding {
	l := list{check: "source topic"}
	if !t.there(&l) {
		return l.findings
	}
	t.safe(&l, "what was not read yet may be lost, or the job stops at a log that was cut")
	if u.Started && u.OldID != [16]byte{} && t.ID != [16]byte{} && u.OldID != t.ID {
		l.add(Error, t.subject(), "begin anew with --fresh, or restore a savepoint without this source's offsets", "it was deleted and made again since the last checkpoint")
		return l.findings
	}
	if strings.Contains(t.Settings["cleanup.policy"], "compact") {
		l.add(Warning, t.subject(), "",
			"cleanup.policy is %s: records that a later one of their key replaces may go before they are read, so a count or a sum is over what is left; the order and the last value of each key are right",
			t.Settings["cleanup.policy"])
	}
	u.gone(&l, t)
	u.expiring(&l, t, now)
	if l.silent(t.subject()) {
		l.add(OK, t.subject(), "", "%s%s", count(t.Partitions, "partition"), u.distance(t, now))
	}
	return l.findings
}

// gone judges offsets that the log does not hold.
func (u *SourceUse) gone(l *list, t *Topic) {
	for _, p := range u.Positions {
		switch {
		case p.Done:
		case p.Offset < p.Start && u.SkipsLoss:
			l.add(Warning, t.subject(), "", "partition %d: %d records are gone before they were read (offsets %d to %d): on_data_loss is earliest, so the job goes on without them",
				p.Partition, p.Start-p.Offset, p.Offset, p.Start-1)
		case p.Offset < p.Start:
			l.add(Error, t.subject(), "set on_data_loss: earliest to go on without them, or begin anew with --fresh",
				"partition %d: offset %d is gone (the log starts at %d): records expired before they were read", p.Partition, p.Offset, p.Start)
		case p.Offset > p.End:
			l.add(Error, t.subject(), "find out why the log was cut (an unclean leader election, or a restored broker); begin anew with --fresh",
				"partition %d: the last checkpoint stands at offset %d and the log ends at %d", p.Partition, p.Offset, p.End)
		}
	}
}

// expiring judges how long the records behind the last checkpoint will stay.
func (u *SourceUse) expiring(l *list, t *Topic, now int64) {
	remedy := "start the job, or raise the topic's retention.ms until it has caught up"
	if keep := t.retention(); keep > 0 {
		if p, left, ok := u.first(keep, now); ok && left <= keep/4 {
			when := "in " + about(left)
			if left <= 0 {
				when = "at any moment"
			}
			l.add(Warning, t.subject(), remedy, "partition %d: the next record to be read (offset %d) may be deleted %s: retention.ms is %s, and the record is %s old",
				p.Partition, p.Offset, when, about(keep), about(time.Duration(now-p.Next)*time.Millisecond))
			return
		}
	}
	if size, ok := t.number("retention.bytes"); ok && size > 0 && strings.Contains(t.Settings["cleanup.policy"], "delete") {
		for _, p := range u.Positions {
			if held := p.End - p.Start; !p.Done && p.Offset >= p.Start && p.Offset < p.End && p.Start > 0 && (p.Offset-p.Start)*10 < held {
				l.add(Warning, t.subject(), "start the job, or raise the topic's retention.bytes until it has caught up",
					"partition %d: the next record to be read (offset %d) is among the oldest tenth of the log, whose end retention.bytes (%d) cuts off", p.Partition, p.Offset, size)
				return
			}
		}
	}
}

// first is the position whose next record goes first, and the time that is left.
func (u *SourceUse) first(keep time.Duration, now int64) (first Position, left time.Duration, ok bool) {
	for _, p := range u.Positions {
		if p.Done || p.Next <= 0 || p.Offset >= p.End {
			continue
		}
		if rest := keep - time.Duration(now-p.Next)*time.Millisecond; !ok || rest < left {
			first, left, ok = p, rest, true
		}
	}
	return first, left, ok
}

// distance says in a few words how far the job is from losing something.
func (u *SourceUse) distance(t *Topic, now int64) string {
	if !u.Started {
		return "; the job has not read it yet"
	}
	var behind int64
	for _, p := range u.Positions {
		if !p.Done {
			behind += max(p.End-p.Offset, 0)
		}
	}
	s := fmt.Sprintf("; %d offsets are not read yet", behind)
	if keep := t.retention(); keep > 0 {
		if _, left, ok := u.first(keep, now); ok {
			s += ", the oldest stays for " + about(left)
		}
	}
	return s
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// about rounds a duration as a person would.
func about(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + about(-d)
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	case d >= 2*time.Second:
		return fmt.Sprintf("%ds", d.Round(time.Second)/time.Second)
	}
	return d.Round(time.Millisecond).String()
}
