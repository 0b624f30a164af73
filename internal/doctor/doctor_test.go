package doctor

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/doctor/txn"
)

const day = int64(24 * time.Hour / time.Millisecond)

// now is the time of every judgement here, in milliseconds.
const now = 1000 * day

func options() *checkpoint.Options {
	o := &checkpoint.Options{}
	o.EnsureDefaults()
	return o
}

func topicWith(settings ...string) *Topic {
	t := &Topic{Name: "t", Partitions: 4, Replicas: 3, InSync: 3, Brokers: 3, Settings: map[string]string{
		"cleanup.policy": "delete", "retention.ms": "604800000", "retention.bytes": "-1", "min.insync.replicas": "2",
		"unclean.leader.election.enable": "false", "message.timestamp.type": "CreateTime", "max.message.bytes": "8388608",
	}}
	for i := 0; i < len(settings); i += 2 {
		t.Settings[settings[i]] = settings[i+1]
	}
	return t
}

func with(t *Topic, change func(*Topic)) *Topic {
	change(t)
	return t
}

// judgement is a case: what was found must be this severe at worst, and say this.
type judgement struct {
	name  string
	found []Finding
	worst Severity
	says  string
}

func (j judgement) check(t *testing.T) {
	t.Helper()
	if len(j.found) == 0 {
		t.Fatalf("%s: no finding at all", j.name)
	}
	r := Report{Findings: j.found}
	var all []string
	for _, f := range j.found {
		all = append(all, f.String())
		if f.Severity >= Warning && f.Remedy == "" && !strings.Contains(f.Text, "compact") && !strings.Contains(f.Text, "on_data_loss") && f.Text != "broken" {
			t.Errorf("%s: no remedy: %s", j.name, f)
		}
		if strings.ContainsAny(f.Text+f.Remedy, "\n\r") {
			t.Errorf("%s: more than one line: %q", j.name, f)
		}
	}
	text := strings.Join(all, "\n")
	if r.Worst() != j.worst || !strings.Contains(text, j.says) {
		t.Errorf("%s: want %s and %q, got\n%s", j.name, j.worst, j.says, text)
	}
}

func TestSourceTopics(t *testing.T) {
	at := func(p Position) SourceUse { return SourceUse{Started: true, Positions: []Position{p}} }
	young, old, ancient := now-day, now-6*day, now-8*day
	for _, j := range []judgement{
		{"never read", Source(topicWith(), SourceUse{}, now), OK, "has not read it yet"},
		{"up to date", Source(topicWith(), at(Position{Offset: 10, Start: 0, End: 10}), now), OK, "0 offsets are not read yet"},
		{"behind", Source(topicWith(), at(Position{Offset: 4, End: 10, Next: young}), now), OK, "6 offsets are not read yet, the oldest stays for 6 days"},
		{"soon to be deleted", Source(topicWith(), at(Position{Partition: 3, Offset: 4, End: 10, Next: old}), now), Warning, "partition 3: the next record to be read (offset 4) may be deleted in 24 hours"},
		{"overdue", Source(topicWith(), at(Position{Offset: 4, End: 10, Next: ancient}), now), Warning, "at any moment"},
		{"kept for ever", Source(topicWith("retention.ms", "-1"), at(Position{Offset: 4, End: 10, Next: ancient}), now), OK, ""},
		{"compacted topics ignore retention.ms", Source(topicWith("cleanup.policy", "compact"), at(Position{Offset: 4, End: 10, Next: ancient}), now), Warning, "over what is left"},
		{"near the end that size cuts off", Source(topicWith("retention.bytes", "1000"), at(Position{Offset: 105, Start: 100, End: 200, Next: young}), now), Warning, "oldest tenth"},
		{"far from it", Source(topicWith("retention.bytes", "1000"), at(Position{Offset: 150, Start: 100, End: 200, Next: young}), now), OK, ""},
		{"gone", Source(topicWith(), at(Position{Partition: 1, Offset: 4, Start: 5, End: 10}), now), Error, "partition 1: offset 4 is gone (the log starts at 5)"},
		{"gone and tolerated", Source(topicWith(), SourceUse{Started: true, SkipsLoss: true, Positions: []Position{{Offset: 4, Start: 6, End: 10}}}, now), Warning, "2 records are gone"},
		{"gone, but the source has ended", Source(topicWith(), at(Position{Offset: 4, Start: 5, End: 10, Done: true}), now), OK, ""},
		{"cut", Source(topicWith(), at(Position{Offset: 11, End: 10}), now), Error, "the log ends at 10"},
		{"made again", Source(with(topicWith(), func(t *Topic) { t.ID[0] = 1 }), SourceUse{Started: true, OldID: [16]byte{2}}, now), Error, "made again"},
		{"missing", Source(&Topic{Name: "t", Missing: true}, SourceUse{}, now), Error, "does not exist"},
		{"not to be seen", Source(&Topic{Name: "t", Err: errors.New("broken")}, SourceUse{}, now), Error, "broken"},
		{"no leader", Source(with(topicWith(), func(t *Topic) { t.Leaderless = []int32{1, 2} }), SourceUse{}, now), Error, "partitions 1, 2"},
		{"settings not to be seen", Source(&Topic{Name: "t", Partitions: 1, Replicas: 3, SettingsErr: errors.New("no")}, SourceUse{}, now), Note, "its settings are not checked"},
		{"unclean election", Source(topicWith("unclean.leader.election.enable", "true"), SourceUse{}, now), Warning, "unclean"},
		{"one replica", Source(with(topicWith(), func(t *Topic) { t.Replicas = 1 }), SourceUse{}, now), Warning, "one replica"},
	} {
		j.check(t)
	}
}

func TestSinkTopics(t *testing.T) {
	for _, j := range []judgement{
		{"fine", Sink(topicWith(), 0, now), OK, "4 partitions, 3 replicas"},
		{"one is enough", Sink(topicWith("min.insync.replicas", "1"), 0, now), Warning, "may be on one broker only"},
		{"all are needed", Sink(topicWith("min.insync.replicas", "3"), 0, now), Warning, "one broker that restarts stops the job"},
		{"more than there are", Sink(topicWith("min.insync.replicas", "4"), 0, now), Error, "every write is refused"},
		{"too few in sync", Sink(with(topicWith(), func(t *Topic) { t.InSync = 1 }), 0, now), Error, "writes to it are refused"},
		{"one broker", Sink(with(topicWith("min.insync.replicas", "1"), func(t *Topic) { t.Replicas, t.InSync, t.Brokers = 1, 1, 1 }), 0, now), OK, ""},
		{"results of the past", Sink(topicWith(), now-8*day, now), Warning, "deletes such results within minutes"},
		{"stamped by the broker", Sink(topicWith("message.timestamp.type", "LogAppendTime"), now-8*day, now), OK, ""},
		{"kept for ever", Sink(topicWith("retention.ms", "-1"), now-8*day, now), OK, ""},
		{"refused for their age", Sink(topicWith("retention.ms", "-1", "message.timestamp.before.max.ms", "86400000"), now-2*day, now), Error, "are refused"},
		{"never refused", Sink(topicWith("retention.ms", "-1", "message.timestamp.before.max.ms", "9223372036854775807"), now-8*day, now), OK, ""},
		{"compacted", Sink(topicWith("cleanup.policy", "compact"), 0, now), Note, "without a key is refused"},
	} {
		j.check(t)
	}
}

func TestCheckpointTopics(t *testing.T) {
	kept := []string{"retention.ms", "-1"}
	for _, j := range []judgement{
		{"fine", CheckpointTopic(topicWith(kept...), nil), OK, "keep every pointer"},
		{"deletes by time", CheckpointTopic(topicWith(), nil), Error, "retention.ms is 604800000"},
		{"compacts", CheckpointTopic(topicWith("retention.ms", "-1", "cleanup.policy", "compact"), nil), Error, "cleanup.policy is compact"},
		{"deletes by size", CheckpointTopic(topicWith("retention.ms", "-1", "retention.bytes", "5"), nil), Error, "retention.bytes is 5"},
		{"small", CheckpointTopic(topicWith("retention.ms", "-1", "max.message.bytes", "1000"), nil), Warning, "does not fit"},
		{"not there", CheckpointTopic(&Topic{Name: "t", Missing: true}, nil), OK, "first start makes it"},
		{"not to be made", CheckpointTopic(&Topic{Name: "t", Missing: true}, errors.New("no")), Error, "would not make it: no"},
	} {
		j.check(t)
	}
}

func TestPointers(t *testing.T) {
	p := func(change func(*LastPointer)) *LastPointer {
		p := &LastPointer{Checkpoint: 42, Group: 42, Written: now - day/24, Host: "h", Files: 3, Storage: "/s"}
		change(p)
		return p
	}
	for _, j := range []judgement{
		{"fine", Pointer(p(func(*LastPointer) {}), now), OK, "written 60 minutes ago on h; its 3 files are in the storage"},
		{"none", Pointer(&LastPointer{None: true}, now), OK, "begins anew"},
		{"none, and the group knows of one", Pointer(&LastPointer{None: true, Group: 7}, now), Error, "checkpoint 7 was committed"},
		{"the topic lost the last", Pointer(p(func(p *LastPointer) { p.Group = 43 }), now), Error, "it lost records"},
		{"a transaction hides the last", Pointer(p(func(p *LastPointer) { p.Group, p.Blocked = 43, true }), now), OK, ""},
		{"unreadable", Pointer(&LastPointer{Err: errors.New("corrupt")}, now), Error, "corrupt"},
		{"a file is missing", Pointer(p(func(p *LastPointer) { p.Missing = []string{"a"} }), now), Error, "of its 3 files 1 are not in /s: a"},
		{"all files are missing", Pointer(p(func(p *LastPointer) { p.Missing, p.Empty = []string{"a", "b", "c"}, true }), now), Error, "none of its 3 files is in /s"},
		{"a file is damaged", Pointer(p(func(p *LastPointer) { p.Damaged = []string{"b"} }), now), Error, "damaged in /s: b"},
		{"records are gone", Pointer(p(func(p *LastPointer) { p.Lost = []int64{5} }), now), Error, "offset 5"},
		{"the store cannot be used", Pointer(p(func(p *LastPointer) { p.FilesErr = errors.New("no") }), now), Note, "not checked"},
		{"ended", Pointer(p(func(p *LastPointer) { p.Final = true }), now), Note, "ends at once"},
		{"savepoint", Pointer(p(func(p *LastPointer) { p.Unfinished = []string{"/b"} }), now), Note, "savepoint /b is not finished"},
	} {
		j.check(t)
	}
}

func TestMachine(t *testing.T) {
	const mib, gib = int64(1) << 20, int64(1) << 30
	disk := func(free uint64, state int64) []Finding {
		return Disk(Space{What: "checkpoint.storage", Path: "/s", Free: free, Total: 1 << 40}, state, options())
	}
	unset := int64(math.MaxInt64)
	for _, j := range []judgement{
		{"room", disk(uint64(10*gib), gib), OK, "the state is 1.0 GiB"},
		{"little room", disk(uint64(gib), gib), Warning, "a new base is written beside the old one"},
		{"no room", disk(uint64(mib), 0), Error, "not enough"},
		{"unknown disk", Disk(Space{What: "w", Path: "/s", Err: errors.New("no")}, 0, options()), Note, "not checked"},
		{"memory", Memory(MemoryLimits{Machine: 16 * gib, Go: unset}, options(), 64*mib), OK, "the machine's memory is 16 GiB"},
		{"a container", Memory(MemoryLimits{Machine: 16 * gib, Group: gib, Go: unset}, options(), 64*mib), OK, "control group"},
		{"a tight container", Memory(MemoryLimits{Machine: 16 * gib, Group: 700 * mib, Go: unset}, options(), 64*mib), Warning, "GOMEMLIMIT is not set"},
		{"a container with GOMEMLIMIT", Memory(MemoryLimits{Machine: 16 * gib, Group: gib, Go: 900 * mib}, options(), 64*mib), OK, "control group"},
		{"GOMEMLIMIT above the limit", Memory(MemoryLimits{Group: gib, Go: 2 * gib}, options(), 64*mib), Warning, "GOMEMLIMIT"},
		{"a container that is too small", Memory(MemoryLimits{Machine: 16 * gib, Group: 512 * mib, Go: unset}, options(), 64*mib), Error, "would be killed"},
		{"unknown memory", Memory(MemoryLimits{Go: unset}, options(), 64*mib), Note, "not checked"},
		{"storage", Storage(&StorageProbe{Where: "/s", Took: time.Millisecond}, 30*time.Second), OK, "deleted in 1ms"},
		{"slow storage", Storage(&StorageProbe{Where: "/s", Took: 10 * time.Second}, 30*time.Second), Warning, "checkpoint.timeout is 30s"},
		{"storage that replaces files", Storage(&StorageProbe{Where: "s3://b", Replaces: true}, time.Second), Warning, "a second file of the same name replaces the first"},
		{"storage that cannot be written", Storage(&StorageProbe{Where: "/s", Step: "writing", Err: errors.New("no")}, time.Second), Error, "writing: no"},
		{"storage to be made", Storage(&StorageProbe{Where: "/a/s", Missing: true, Parent: "/a"}, time.Second), OK, "makes it in /a"},
		{"storage that cannot be made", Storage(&StorageProbe{Where: "/a/s", Missing: true, Parent: "/a", ParentErr: errors.New("no")}, time.Second), Error, "cannot be made in /a"},
		{"nothing to compare the clock with", Clock(Clocks{Now: now}), Note, "cannot be asked"},
		{"a checkpoint of before", Clock(Clocks{Now: now, Pointer: now - 1, Host: "h"}), OK, ""},
		{"a checkpoint of tomorrow", Clock(Clocks{Now: now, Pointer: now + day, Host: "h"}), Warning, "host h 24 hours after"},
		{"a broker's stamp", Clock(Clocks{Now: now, Brokers: now - 1, BrokersTopic: "t"}), OK, "LogAppendTime"},
		{"a broker that is ahead", Clock(Clocks{Now: now, Brokers: now + 5000, BrokersTopic: "t"}), Warning, "5s after"},
		{"a record of tomorrow", Clock(Clocks{Now: now, Records: now + day, RecordsTopic: "t"}), Warning, "24 hours after"},
	} {
		j.check(t)
	}
}

func TestClusters(t *testing.T) {
	ok := Broker{ID: 1, Version: "v4.4", Release: [2]int{4, 4}, TransactionVersion: 2}
	old := Broker{ID: 2, Version: "v3.6", Release: [2]int{3, 6}}
	settings := func(pairs ...string) []Finding {
		b := &BrokerSettings{Values: map[string]string{}, Brokers: 3}
		for i := 0; i < len(pairs); i += 2 {
			b.Values[pairs[i]] = pairs[i+1]
		}
		return Settings(b, options())
	}
	for _, j := range []judgement{
		{"two brokers", Brokers("", []Broker{ok, ok}), OK, "2 of 2 brokers answer, Kafka v4.4, transaction.version 2"},
		{"one broker", Brokers("", []Broker{ok}), Note, "there is one broker"},
		{"one does not answer", Brokers("", []Broker{ok, {ID: 3, Err: errors.New("no")}}), Error, "broker 3: no"},
		{"old", Brokers("", []Broker{old, old}), Warning, "older than what Weir is tested with"},
		{"mixed", Brokers("", []Broker{ok, old}), Note, "different versions"},
		{"another cluster", Brokers("cluster of source s", []Broker{ok, {ID: 3, Err: errors.New("no")}}), Error, "cluster of source s, broker 3"},
		{"default settings", settings("transaction.max.timeout.ms", "900000", "transactional.id.expiration.ms", "604800000"), OK, "nothing is lost"},
		{"short transactions", settings("transaction.max.timeout.ms", "60000"), Error, "more than the broker allows"},
		{"state of transactions there once", settings("transaction.state.log.replication.factor", "1"), Warning, "nobody knows any more"},
		{"settings unknown", Settings(&BrokerSettings{Err: errors.New("no")}, options()), Note, "not checked"},
		{"nobody runs it", Running(Process{Address: "a"}), OK, "no other process"},
		{"it runs", Running(Process{Address: "a", Phase: "running", Attempt: "x"}), Note, "the job runs there"},
		{"it runs elsewhere", Running(Process{Moves: true}), Note, "another machine"},
		{"another job", Running(Process{Address: "a", Other: "b"}), Error, "job b has this address"},
		{"readers", Readers("t", []string{"g"}, nil), Note, "read by g"},
		{"no readers", Readers("t", nil, nil), OK, ""},
	} {
		j.check(t)
	}
}

func TestAccess(t *testing.T) {
	right := Grant{Kind: "topic", Name: "t", Operation: "Write", For: "writing results"}
	id := Grant{Kind: "transactional-id", Name: "weir.j.0.2", Operation: "Write", For: "x"}
	allowed, optional, unknown := right, right, right
	allowed.Allowed, optional.Optional, unknown.Err = true, true, errors.New("no answer")
	for _, j := range []judgement{
		{"allowed", Access("", "u", []Grant{allowed}), OK, "1 of the 1 operations"},
		{"not allowed", Access("", "u", []Grant{right}), Error, "--allow-principal User:u --topic t --operation Write"},
		{"not allowed, not needed", Access("", "", []Grant{optional}), Warning, "User:PRINCIPAL"},
		{"not known", Access("", "u", []Grant{unknown, unknown}), Note, "no answer"},
		{"a slot", Access("", "u", []Grant{id}), Error, "--transactional-id weir.j.0. --resource-pattern-type prefixed"},
		{"the cluster", Access("", "u", []Grant{{Kind: "cluster", Operation: "DescribeConfigs"}}), Error, "--cluster --operation DescribeConfigs"},
	} {
		j.check(t)
	}
}

func TestLeftTransactions(t *testing.T) {
	at := txn.Partition{Topic: "t", Partition: 1}
	clock := time.UnixMilli(now)
	own := func(state string, age time.Duration) txn.State {
		return txn.State{ID: "weir.j.0.1", State: state, Producer: 5, Epoch: 3, Started: now - age.Milliseconds(), Timeout: 90_000, Partitions: []txn.Partition{at}}
	}
	left := func(role string, change func(*Leftovers)) []Finding {
		o := Leftovers{Roles: map[string]string{"t": role}, Longest: 15 * time.Minute}
		change(&o)
		return Transactions(o, clock)
	}
	block := []txn.Block{{Partition: at, Stable: 7, End: 9}}
	foreign := func(state *txn.State) []txn.Open {
		o := txn.Open{Partition: at, Producer: 9, Epoch: 1, Start: 7, Last: now - 60_000, State: state}
		if state != nil {
			o.ID = state.ID
		}
		return []txn.Open{o}
	}
	other := func(state string, age time.Duration) *txn.State {
		return &txn.State{ID: "other", State: state, Producer: 9, Epoch: 1, Started: now - age.Milliseconds(), Timeout: 60_000, Partitions: []txn.Partition{at}}
	}
	unmarked := func(o *Leftovers) {
		s := own("CompleteCommit", 0)
		o.Own, o.Blocks, o.Open = []txn.State{s}, block, []txn.Open{{Partition: at, Producer: 5, Epoch: 3, Start: 7, ID: s.ID, State: &s}}
	}
	for _, j := range []judgement{
		{"none", left("sink", func(*Leftovers) {}), OK, "none is open"},
		{"left by a dead process", left("sink", func(o *Leftovers) { o.Own, o.Blocks = []txn.State{own("Ongoing", time.Minute)}, block }), Note, "left open 60s ago"},
		{"the running job's", left("sink", func(o *Leftovers) { o.Own, o.Blocks, o.Running = []txn.State{own("Ongoing", time.Second)}, block, true }), OK, "the running job's"},
		{"wedged", left("sink", func(o *Leftovers) { o.Own = []txn.State{own("Ongoing", time.Hour)} }), Error, "the broker does not abort it"},
		{"markers wait", left("sink", func(o *Leftovers) { o.Own = []txn.State{own("PrepareCommit", time.Hour)} }), Error, "markers cannot be written"},
		{"of another, young", left("source", func(o *Leftovers) { o.Blocks, o.Open = block, foreign(other("Ongoing", time.Second)) }), OK, "transaction other is open for 1s"},
		{"of another", left("source", func(o *Leftovers) { o.Blocks, o.Open = block, foreign(other("Ongoing", 30*time.Second)) }), Warning, "the job reads no further"},
		{"of another on the checkpoint topic", left("checkpoint", func(o *Leftovers) { o.Blocks, o.Open = block, foreign(other("Ongoing", time.Second)) }), Error, "a start waits for it"},
		{"hanging", left("sink", func(o *Leftovers) { o.Blocks, o.Open = block, foreign(other("CompleteAbort", 0)) }), Error, "--topic t --partition 1 --start-offset 7"},
		{"nobody's", left("sink", func(o *Leftovers) { o.Blocks, o.Open = block, foreign(nil) }), Warning, "nobody tells its transactional ID"},
		{"nobody's, and old", left("sink", func(o *Leftovers) { o.Blocks, o.Open = block, foreign(nil); o.Open[0].Last -= 2 * day }), Warning, "longer than any timeout"},
		{"we may not ask", left("sink", func(o *Leftovers) { o.Blocks, o.Unasked = block, map[string]error{"t": errors.New("no")} }), Warning, "we may not ask whose"},
		{"over when we asked whose", left("checkpoint", func(o *Leftovers) { o.Blocks = block }), OK, "none is open"},
		{"the marker of another's is missing", left("sink", func(o *Leftovers) { o.Blocks, o.Open = block, foreign(other("CompleteCommit", 0)) }), Warning, "start the job that it is of, or if it runs stop it"},
		{"a marker of its own is missing", left("checkpoint", unmarked), Error, "-> start the job: its recovery writes the marker"},
		{"the same while it runs", left("checkpoint", func(o *Leftovers) { unmarked(o); o.Running = true }), Error, "-> stop the job and start it again: its recovery"},
		{"not known", left("sink", func(o *Leftovers) { o.Own = []txn.State{{ID: "x", Err: errors.New("no")}} }), Note, "not checked"},
	} {
		j.check(t)
	}
}

func TestReportsAreReadByPrograms(t *testing.T) {
	r := Report{Job: "j", Findings: []Finding{{Severity: Warning, Check: "disk", Subject: "/s", Text: "x", Remedy: "y"}}}
	b, err := json.Marshal(r)
	if want := `{"job":"j","findings":[{"severity":"warning","check":"disk","subject":"/s","finding":"x","remedy":"y"}]}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	var back Report
	if err := json.Unmarshal(b, &back); err != nil || back.Findings[0] != r.Findings[0] {
		t.Errorf("%+v, %v", back, err)
	}
}

// What Go's runtime may have, with the program itself and what a collection overshoots, is at most the budget and a quarter of it,
// or about 90 MiB.
func TestTheHeapLeavesRoomForTheRestOfTheProcess(t *testing.T) {
	for _, memory := range []int64{16 << 20, 512e6, 512 << 20, 8 << 30} {
		heap := Heap(&checkpoint.Options{Memory: checkpoint.Bytes(memory)})
		if most := memory + max(memory/4, 104<<20); heap <= memory || heap+text+16<<20 > most {
			t.Errorf("of a budget of %d the heap may have %d", memory, heap)
		}
	}
}
