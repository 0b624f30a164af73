// Package stream holds the vocabulary of everything that moves through a job: records as Kafka stores them, events as
// operators see them, watermarks, and the key groups that keyed state is assigned in. It imports nothing of Weir.
//
// Ownership: the bytes that a [Record] or an [Event] points to (Key, Value, Headers, and any string that a decoder made
// to share them) belong to the batch they arrived in. They may be read for as long as somebody holds them and must
// never be changed. The Record or Event itself, the struct, is valid only during the call that hands it over: who
// keeps it copies the struct.
package stream
