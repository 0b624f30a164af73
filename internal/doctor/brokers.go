package doctor

import (
	"fmt"
	"slices"
)

// Broker is what was learnt about one broker of a cluster.
type Broker struct {
	ID int32
	// Address is the one that the cluster advertises.
	Address string
	// Version is Kafka's, "" if it could not be told from what the broker offers.
	Version string
	// Release is Version's number, such as 3.9 as {3, 9}; {0, 0} if unknown.
	Release [2]int
	// TransactionVersion is the finalized level of transaction.version.
	TransactionVersion int
	// Err is why it could not be asked.
	Err error
}

// The releases of Kafka that the scenarios of integration/ run on.
var oldestTested, newestTested = [2]int{3, 9}, [2]int{4, 4}

// Brokers judges a cluster as a whole. cluster names it, as "cluster of source views"; it is "" for the job's own.
func Brokers(cluster string, brokers []Broker) []Finding {
	l := list{check: "broker"}
	within := ""
	if cluster != "" {
		within = cluster + ", "
	}
	var versions []string
	reached, lowest, oldest := 0, -1, [2]int{}
	for _, b := range brokers {
		subject := fmt.Sprintf("%sbroker %d", within, b.ID)
		if b.Err != nil {
			l.add(Error, subject, "this is the address that the broker advertises: it must be reachable from here (advertised.listeners, firewall, name resolution)",
				"%s", oneLine(b.Err))
			continue
		}
		reached++
		if !slices.Contains(versions, b.Version) && b.Version != "" {
			versions = append(versions, b.Version)
		}
		if b.Release != [2]int{} && (oldest == [2]int{} || less(b.Release, oldest)) {
			oldest = b.Release
		}
		if lowest < 0 || b.TransactionVersion < lowest {
			lowest = b.TransactionVersion
		}
	}
	subject := cluster
	if subject == "" {
		subject = "cluster"
	}
	if reached == 0 {
		return l.findings
	}
	switch {
	case len(versions) > 1:
		l.add(Note, subject, "", "the brokers have different versions (%s): an upgrade is under way", some(versions))
	case oldest != [2]int{} && less(oldest, oldestTested):
		l.add(Warning, subject, fmt.Sprintf("upgrade to Kafka %d.%d or later", oldestTested[0], oldestTested[1]), "Kafka %s is older than what Weir is tested with", versions[0])
	}
	if lowest >= 0 && lowest < 2 {
		l.add(Note, subject, "when the whole cluster is upgraded: kafka-features.sh upgrade --feature transaction.version=2",
			"transaction.version is %d: it works, and a commit takes longer than with 2", lowest)
	}
	if len(brokers) == 1 {
		l.add(Note, subject, "", "there is one broker: while it is down nothing runs, and what is on its disk is there once")
	}
	version := ""
	if len(versions) == 1 {
		version = ", Kafka " + versions[0]
	}
	l.add(OK, subject, "", "%d of %d brokers answer%s, transaction.version %d", reached, len(brokers), version, lowest)
	return l.findings
}

func less(a, b [2]int) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }
