package proxy

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TransactionalID is the transactional ID that a request names, "" if none.
func (q *Request) TransactionalID() string {
	switch r := q.Body.(type) {
	case *kmsg.ProduceRequest:
		return text(r.TransactionID)
	case *kmsg.InitProducerIDRequest:
		return text(r.TransactionalID)
	case *kmsg.AddPartitionsToTxnRequest:
		if len(r.Transactions) > 0 {
			return r.Transactions[0].TransactionalID
		}
		return r.TransactionalID
	case *kmsg.AddOffsetsToTxnRequest:
		return r.TransactionalID
	case *kmsg.TxnOffsetCommitRequest:
		return r.TransactionalID
	case *kmsg.EndTxnRequest:
		return r.TransactionalID
	}
	return ""
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Commits holds for an EndTxn request that commits.
func Commits(q *Request) bool {
	r, ok := q.Body.(*kmsg.EndTxnRequest)
	return ok && r.Commit
}

// InTransaction holds for requests that name a transactional ID with this prefix.
func InTransaction(prefix string) func(*Request) bool {
	return func(q *Request) bool {
		id := q.TransactionalID()
		return id != "" && strings.HasPrefix(id, prefix)
	}
}

// OnTopic holds for Produce, Fetch and ListOffsets requests that are, besides others, about the topic of this name or, in
// versions that name topics so, of this ID.
func OnTopic(name string, id [16]byte) func(*Request) bool {
	is := func(n string, i [16]byte) bool {
		if i != ([16]byte{}) {
			return i == id
		}
		return n == name
	}
	return func(q *Request) bool {
		switch r := q.Body.(type) {
		case *kmsg.ProduceRequest:
			for i := range r.Topics {
				if is(r.Topics[i].Topic, r.Topics[i].TopicID) {
					return true
				}
			}
		case *kmsg.FetchRequest:
			for i := range r.Topics {
				if is(r.Topics[i].Topic, r.Topics[i].TopicID) {
					return true
				}
			}
		case *kmsg.ListOffsetsRequest:
			for i := range r.Topics {
				if r.Topics[i].Topic == name {
					return true
				}
			}
		}
		return false
	}
}

// All holds when all of them do.
func All(conditions ...func(*Request) bool) func(*Request) bool {
	return func(q *Request) bool {
		for _, c := range conditions {
			if !c(q) {
				return false
			}
		}
		return true
	}
}
