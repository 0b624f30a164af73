package doctor

import (
	"fmt"
	"strconv"
	"time"
)

// Topic is what was learnt about one topic of the job.
type Topic struct {
	Name string
	// Step is the source or sink that uses it; empty for the checkpoint topic.
	Step string
	// Missing: the topic does not exist. Err: it could not be looked at.
	Missing bool
	Err     error

	ID         [16]byte
	Partitions int
	// Leaderless are the partitions that no broker leads at the moment.
	Leaderless []int32
	// Replicas and InSync are those of the partition with the fewest.
	Replicas, InSync int
	// Brokers is the number of brokers in the cluster.
	Brokers int

	// Settings by name; SettingsErr is why there are none.
	Settings    map[string]string
	SettingsErr error
}

func (t *Topic) subject() string { return "topic " + t.Name }

// number is a setting that is a number; ok is false if it is not known.
func (t *Topic) number(name string) (n int64, ok bool) {
	n, err := strconv.ParseInt(t.Settings[name], 10, 64)
	return n, err == nil
}

// there judges whether the topic can be used at all; false means that there is nothing more to look at.
func (t *Topic) there(l *list) bool {
	switch {
	case t.Missing:
		l.add(Error, t.subject(), "create it: processor topics create "+t.Name+":PARTITIONS", "it does not exist, and the job makes no topic but its own")
		return false
	case t.Err != nil:
		l.add(Error, t.subject(), "", "%s", oneLine(t.Err))
		return false
	case len(t.Leaderless) > 0:
		l.add(Error, t.subject(), "bring the brokers back that hold it", "no broker leads %s", partitions(t.Leaderless))
	}
	if t.SettingsErr != nil {
		l.add(Note, t.subject(), "allow DescribeConfigs on the topic to whoever runs doctor", "its settings are not checked: %s", oneLine(t.SettingsErr))
	}
	return true
}

// safe judges how well what is in the topic is kept. loses says what a loss means for it.
func (t *Topic) safe(l *list, loses string) {
	if t.Brokers > 1 && t.Replicas == 1 {
		l.add(Warning, t.subject(), "kafka-reassign-partitions.sh: 3 replicas", "it has one replica: with that broker %s", loses)
	}
	if t.Settings["unclean.leader.election.enable"] == "true" {
		l.add(Warning, t.subject(), "set unclean.leader.election.enable=false", "a replica that is behind may become leader: then %s", loses)
	}
}

// written judges what acks=all means for the topic.
func (t *Topic) written(l *list) {
	least, ok := t.number("min.insync.replicas")
	n := int(least)
	switch {
	case !ok:
	case n > t.Replicas:
		l.add(Error, t.subject(), fmt.Sprintf("set min.insync.replicas to %d, or add replicas", max(t.Replicas-1, 1)),
			"min.insync.replicas is %d and it has %d replicas: every write is refused", n, t.Replicas)
	case n > t.InSync:
		l.add(Error, t.subject(), "bring the brokers back that hold its replicas", "a partition has %d replicas in sync and min.insync.replicas is %d: writes to it are refused", t.InSync, n)
	case n == 1 && t.Replicas > 1:
		l.add(Warning, t.subject(), "set min.insync.replicas=2", "min.insync.replicas is 1: what is acknowledged may be on one broker only")
	case n == t.Replicas && n > 1:
		l.add(Warning, t.subject(), fmt.Sprintf("set min.insync.replicas=%d", n-1), "min.insync.replicas is %d, as many as it has replicas: one broker that restarts stops the job", n)
	}
}

// retention is how long the topic keeps records; 0 if that is for ever or not known.
func (t *Topic) retention() time.Duration {
	ms, ok := t.number("retention.ms")
	if !ok || ms <= 0 || t.Settings["cleanup.policy"] == "compact" || ms > int64(maxDuration/time.Millisecond) {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

const maxDuration = time.Duration(1<<63 - 1)

func partitions(ps []int32) string {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = strconv.Itoa(int(p))
	}
	if len(ps) == 1 {
		return "partition " + names[0]
	}
	return "partitions " + some(names)
}
