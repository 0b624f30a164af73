// Package txn looks at transactions and ends them: those of a job's own transactional IDs, and those that some producer has
// left open on a partition.
//
// [Describe] asks the coordinators about IDs, [Blocked] the partitions whose readers a transaction holds back, [Producers]
// who that is. [Open.Verdict] tells an open transaction that its coordinator will end from one that nobody will. [Fence] ends
// the first kind, [Mark] the second. Looking changes nothing.
package txn
