// Package probe collects what package doctor judges: it asks the brokers, the checkpoint storage, the machine and the job's
// HTTP address. [Examine] is all of it.
//
// It changes nothing but a file of its own in the storage, which it removes: no producer is made, no transaction is ended,
// and a job that runs is not disturbed. (The brokers make their own internal topics when somebody asks for a coordinator
// for the first time in the life of a cluster, as a start of the job would.) Every check has a deadline, and a check that
// has no answer by then is a finding.
package probe
