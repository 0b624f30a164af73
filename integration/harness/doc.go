// Package harness drives whole jobs on a real Kafka: it starts programs as operating-system processes and ends them in
// every way there is, feeds topics with a producer that is not Weir, and reads them back as a read_committed consumer does.
//
// The types to know are Cluster (a broker, its topics and what they hold), Process (a running program) and Feed
// (an input that goes on while a job is killed). The oracles are plain functions over what was read: they know nothing
// of the engine. A failed check prints the seed of its random choices and the command that repeats them.
package harness
