// Package integration runs whole jobs, as operating-system processes, on a real Apache Kafka. README.md lists the scenarios
// and the invariants that all of them check.
//
//	make integration
//	make integration RUN=TestKilled
package integration
