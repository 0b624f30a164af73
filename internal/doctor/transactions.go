package doctor

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirstream/weir/internal/doctor/txn"
)

// Leftovers are the transactions that are open where the job reads and writes.
type Leftovers struct {
	// Running: a process of the job runs, so that open transactions of its own are its work.
	Running bool
	// Own are the job's transactional IDs.
	Own []txn.State
	// Blocks are partitions whose readers are held back; Roles says what a topic is: "source", "sink" or "checkpoint".
	Blocks []txn.Block
	Roles  map[string]string
	// Open are the transactions on those partitions, and Unasked the topics of which nobody may be asked for them. A block whose
	// topic could be asked and that has none is over.
	Open    []txn.Open
	Unasked map[string]error
	// Longest is the brokers' transaction.max.timeout.ms, 0 if it is not known.
	Longest time.Duration
	// Errs are topics that could not be asked.
	Errs map[string]error
}

// Transactions judges transactions that somebody left open.
func Transactions(o Leftovers, now time.Time) []Finding {
	l := list{check: "transactions"}
	for _, s := range o.Own {
		switch {
		case s.Err != nil:
			l.findings = append(l.findings, Unknown(l.check, s.ID, s.Err))
		case !s.Open():
		case s.Ending() && s.Age(now) > time.Minute:
			l.add(Error, s.ID, "see whether every partition that it writes has a leader: the markers wait for them", "it is %s for %s: its markers cannot be written", s.State, about(s.Age(now)))
		case o.Running:
			l.add(OK, s.ID, "", "open for %s: the running job's", about(s.Age(now)))
		case s.Age(now) > 2*time.Duration(s.Timeout)*time.Millisecond:
			l.add(Error, s.ID, "processor transactions abort JOB", "open for %s and its timeout is %s: the broker does not abort it", about(s.Age(now)), about(time.Duration(s.Timeout)*time.Millisecond))
		default:
			l.add(Note, s.ID, "", "left open %s ago by a process that did not end in order, on %s: the next start aborts it, or the broker after %s",
				about(s.Age(now)), count(len(s.Partitions), "partition"), about(time.Duration(s.Timeout)*time.Millisecond))
		}
	}
	for topic, err := range o.Errs {
		l.findings = append(l.findings, Unknown(l.check, "topic "+topic, err))
	}
	for _, b := range o.Blocks {
		o.block(&l, b, now)
	}
	if len(l.findings) == 0 {
		l.add(OK, "job and topics", "", "none is open")
	}
	return l.findings
}

// block judges one partition whose readers are held back.
func (o *Leftovers) block(l *list, b txn.Block, now time.Time) {
	subject := fmt.Sprintf("topic %s partition %d", b.Topic, b.Partition.Partition)
	effect := map[string]string{
		"source":     "the job reads no further",
		"sink":       "readers of the output see nothing behind it",
		"checkpoint": "a start waits for it, and gives up after 15s",
	}[o.Roles[b.Topic]]
	severity := Warning
	if o.Roles[b.Topic] == "checkpoint" {
		severity = Error
	}
	known := false
	for _, t := range o.Open {
		if t.Partition != b.Partition {
			continue
		}
		known = true
		who := fmt.Sprintf("producer %d", t.Producer)
		if t.ID != "" {
			who = "transaction " + t.ID
		}
		abort := fmt.Sprintf("processor transactions abort JOB --topic %s --partition %d --start-offset %d", t.Topic, t.Partition.Partition, t.Start)
		switch v := t.Verdict(); {
		case v == txn.Unmarked:
			remedy := "start the job that it is of, or if it runs stop it and start it again: its recovery writes the marker"
			if o.own(t) {
				remedy = map[bool]string{false: "start the job", true: "stop the job and start it again"}[o.Running] + ": its recovery writes the marker"
			}
			l.add(severity, subject, remedy, "%s was committed and has no marker here, since offset %d; %s", who, t.Start, effect)
		case o.own(t) && v != txn.Hangs:
			// Said with its ID.
		case v == txn.Hangs:
			l.add(Error, subject, abort, "%s hangs since offset %d: its coordinator knows no such transaction, so it never ends; %s", who, t.Start, effect)
		case v == txn.Unclear && o.Longest > 0 && t.Age(now) > o.Longest+time.Minute:
			l.add(severity, subject, abort+" --force, if its owner is gone", "%s has a transaction open since offset %d, with a last record of %s ago, longer than any timeout, and nobody tells its transactional ID; %s", who, t.Start, about(t.Age(now)), effect)
		case v == txn.Unclear:
			l.add(min(severity, Warning), subject, "ask somebody who may describe transactions: processor transactions list JOB --all", "%s has a transaction open since offset %d, and nobody tells its transactional ID; %s", who, t.Start, effect)
		case t.State.Age(now) < 10*time.Second && severity < Error:
			l.add(OK, subject, "", "%s is open for %s", who, about(t.State.Age(now)))
		default:
			l.add(severity, subject, "wait for its owner or for its timeout; if the owner is gone: "+abort+" --force", "%s is open for %s (timeout %s) since offset %d; %s", who, about(t.State.Age(now)),
				about(time.Duration(t.State.Timeout)*time.Millisecond), t.Start, effect)
		}
	}
	if !known && !o.Running && o.Unasked[b.Topic] != nil {
		ours := false
		for _, s := range o.Own {
			for _, p := range s.Partitions {
				ours = ours || s.Open() && p == b.Partition
			}
		}
		if !ours {
			l.add(severity, subject, "ask somebody who may Read the topic: processor transactions list JOB --all", "a transaction is open since offset %d (the log ends at %d), and we may not ask whose; %s", b.Stable, b.End, effect)
		}
	}
}

// own reports whether a transaction is the job's; without the right to see its ID, its producer tells.
func (o *Leftovers) own(t txn.Open) bool {
	return slices.ContainsFunc(o.Own, func(s txn.State) bool { return s.ID == t.ID || s.Producer == t.Producer && s.Producer >= 0 })
}

// Process is what was learnt about another process that runs the job.
type Process struct {
	// Address is the job's HTTP address, "" if it has none.
	Address string
	// Phase and Attempt are what a process of this job says there.
	Phase, Attempt string
	// Other is the name of another job that answers there.
	Other string
	// ListenErr is why the address could not be listened on.
	ListenErr error
	// Moves: the job's transactions changed while we looked.
	Moves bool
}

// Running judges whether somebody runs the job already.
func Running(p Process) []Finding {
	l := list{check: "running"}
	const effect = "a start takes over, and the other process ends with exit code 3"
	subject := "http://" + p.Address
	switch {
	case p.Phase != "":
		l.add(Note, subject, "", "the job runs there (%s, attempt %s): %s", p.Phase, p.Attempt, effect)
	case p.Other != "":
		l.add(Error, subject, "set http.address, or --address, to another one", "job %s has this address", p.Other)
	case p.ListenErr != nil:
		l.add(Error, subject, "set http.address, or --address, to another one", "%s", oneLine(p.ListenErr))
	}
	if p.Phase == "" && p.Moves {
		l.add(Note, "transactions", "", "another process runs the job, on another machine or without this HTTP address: %s", effect)
	}
	if len(l.findings) == 0 {
		l.add(OK, "job", "", "no other process is seen to run it")
	}
	return l.findings
}

// Readers names the groups that read the topic of a sink. Whether they read committed results only cannot be asked.
func Readers(topic string, groups []string, err error) []Finding {
	l := list{check: "readers"}
	subject := "topic " + topic
	switch {
	case err != nil:
		return []Finding{Unknown(l.check, subject, err)}
	case len(groups) == 0:
		l.add(OK, subject, "", "no group that we may see has read it")
	default:
		l.add(Note, subject, "set isolation.level=read_committed in each of them", "read by %s: no broker tells whether they read committed results only, which is not the default of most clients", some(groups))
	}
	return l.findings
}
