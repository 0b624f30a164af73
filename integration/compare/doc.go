// Command compare runs the same job on Weir, Kafka Streams and Flink, does the same faults to them, and prints what a
// read_committed reader then misses or has twice. docs/comparison.md holds what came out.
//
//	go run ./integration/compare
//	go run ./integration/compare -systems weir,flink -scenarios held -rounds 3
//
// The job keeps a running sum of n per key and writes it for each record, so a value stands for one record. Each run has
// topics, a proxy and a process of its own on one shared Kafka; the systems of a scenario run at the same time.
//
// It needs Java 17 and Maven; jars come once, by the poms of bench/peers/java. It is no test: nobody decides here what an
// outcome has to be.
package main
