// Package jobtest tests a user's own jobs: it runs one in memory, feeds it, crashes it at a chosen moment, and shows what
// a read_committed reader sees of its output.
//
// [New] starts a Kafka in this process. [Cluster.Produce] writes to a topic, [Cluster.Run] runs a job (a graph in Go, or
// one that [Cluster.Load] has read from a YAML file), and [Cluster.Read] reads what is committed. A [Run] that was crashed by
// [CrashAt] or [Run.Kill] is gone as a killed process is: another Run of the same job continues from its last checkpoint.
// [CrashEverywhere] does all of that for every step of a recovery and of a checkpoint in turn.
//
// The engine is the one that runs in production, with its transactions, its checkpoints and its state; only the broker is
// another (kfake). The invariant everything rests on: from the moment of a crash, the job's network is cut and
// stays so, so nothing that the dying process still does reaches the broker.
//
// Mistakes of the test, and waits of more than a minute, end the test and say what is known; what ended a run is an error
// for the test to judge. Nothing is left behind when the test ends.
//
// It leaves a real broker's disks, replicas and clocks to tests on a real broker. Nothing of a job imports this package, so
// that no Kafka is linked into it.
package jobtest
