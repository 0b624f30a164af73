// Package broker runs a real Apache Kafka as a child process, for tests and measurements.
//
// It holds nodes that are broker and controller, one or several that form a cluster, started from Kafka's own jars, which
// Maven brings once into a cache outside the tree. The types to know are Options and Broker; Start makes one node,
// StartNodes a cluster. Each node is stopped, killed, frozen and restarted by itself. A broker never outlives the process that started it: the
// kernel kills it when its parent ends, however that ends. What is written to the broker, and what is expected of it, is
// left to the harness.
package broker
