// Package web is a job's HTTP address: its metrics for Prometheus, whether it is healthy and ready, its status, and what a
// person may ask of it (a savepoint, a stop).
//
// The types to know: [Options], where to listen and who may trigger; [Server]; [Client], the other side of the same
// API; [Metrics], which turns what the engine counts into Prometheus' form.
//
// The invariant: what can be reached from another machine triggers nothing without a token. A server that would is not
// started. Reading (metrics, health, status) needs none.
//
// Everything shown is read when it is asked for; no record passes here.
package web
