// Package kafka holds what source, sink and checkpoint share about a Kafka cluster: how to reach it, what it is able to
// do, and what its errors mean. No record passes here.
//
// The types to know are [Config], the connection settings of a job; [Dial], which turns them into a client that has been
// seen to work, or into one line that says why not; and [Cluster], which answers questions about features, topics and
// settings.
//
// The invariant: a secret is a [Secret], and a Secret is never printed, whatever the verb, encoder or logger. Every call
// ends by itself: with the caller's deadline, or else with one of this package's.
package kafka
