// Package offsets looks at the committed offsets of consumer groups and sets them to those of a savepoint, for groups that are
// not a Weir job's: the offsets of a job are in its pointers, and its group has copies of them for people and their lag
// dashboards (rule 18).
//
// [Plan] and [Recognise] decide; [Cluster] asks the brokers and commits.
package offsets
