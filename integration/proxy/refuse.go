package proxy

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Refusable are the requests that Refuse and AnswerWith can answer.
var Refusable = []kmsg.Key{
	kmsg.Produce, kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata, kmsg.OffsetCommit, kmsg.OffsetFetch, kmsg.FindCoordinator,
	kmsg.DeleteRecords, kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.EndTxn, kmsg.TxnOffsetCommit,
	kmsg.DescribeConfigs, kmsg.DescribeTransactions,
}

// refusal is the answer to a request with an error in every place that takes one; nil if the proxy cannot make it.
func refusal(req kmsg.Request, e *kerr.Error) kmsg.Response {
	resp := req.ResponseKind()
	if d, ok := resp.(interface{ Default() }); ok {
		d.Default()
	}
	code := e.Code
	switch resp := resp.(type) {
	case *kmsg.EndTxnResponse:
		resp.ErrorCode = code
	case *kmsg.InitProducerIDResponse:
		resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = code, -1, -1
	case *kmsg.AddOffsetsToTxnResponse:
		resp.ErrorCode = code
	case *kmsg.FindCoordinatorResponse:
		refuseCoordinator(req.(*kmsg.FindCoordinatorRequest), resp, code)
	case *kmsg.AddPartitionsToTxnResponse:
		refuseAddPartitions(req.(*kmsg.AddPartitionsToTxnRequest), resp, code)
	case *kmsg.TxnOffsetCommitResponse:
		for _, t := range req.(*kmsg.TxnOffsetCommitRequest).Topics {
			rt := kmsg.NewTxnOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rt.Partitions = append(rt.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: code})
			}
			resp.Topics = append(resp.Topics, rt)
		}
	case *kmsg.OffsetCommitResponse:
		for _, t := range req.(*kmsg.OffsetCommitRequest).Topics {
			rt := kmsg.NewOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rt.Partitions = append(rt.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: code})
			}
			resp.Topics = append(resp.Topics, rt)
		}
	case *kmsg.OffsetFetchResponse:
		resp.ErrorCode = code
		for _, g := range req.(*kmsg.OffsetFetchRequest).Groups {
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group, rg.ErrorCode = g.Group, code
			resp.Groups = append(resp.Groups, rg)
		}
	case *kmsg.DescribeConfigsResponse:
		for _, r := range req.(*kmsg.DescribeConfigsRequest).Resources {
			rr := kmsg.NewDescribeConfigsResponseResource()
			rr.ErrorCode, rr.ResourceType, rr.ResourceName = code, r.ResourceType, r.ResourceName
			resp.Resources = append(resp.Resources, rr)
		}
	case *kmsg.DescribeTransactionsResponse:
		for _, id := range req.(*kmsg.DescribeTransactionsRequest).TransactionalIDs {
			s := kmsg.NewDescribeTransactionsResponseTransactionState()
			s.ErrorCode, s.TransactionalID = code, id
			resp.TransactionStates = append(resp.TransactionStates, s)
		}
	default:
		return refuseRecords(req, resp, code)
	}
	return resp
}

// refuseRecords is refusal for the requests about records and topics.
func refuseRecords(req kmsg.Request, resp kmsg.Response, code int16) kmsg.Response {
	switch resp := resp.(type) {
	case *kmsg.ProduceResponse:
		for _, t := range req.(*kmsg.ProduceRequest).Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition, rp.ErrorCode, rp.BaseOffset = p.Partition, code, -1
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
	case *kmsg.FetchResponse:
		for _, t := range req.(*kmsg.FetchRequest).Topics {
			rt := kmsg.NewFetchResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rp := kmsg.NewFetchResponseTopicPartition()
				rp.Partition, rp.ErrorCode, rp.HighWatermark = p.Partition, code, -1
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
	case *kmsg.ListOffsetsResponse:
		for _, t := range req.(*kmsg.ListOffsetsRequest).Topics {
			rt := kmsg.NewListOffsetsResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewListOffsetsResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
	case *kmsg.DeleteRecordsResponse:
		for _, t := range req.(*kmsg.DeleteRecordsRequest).Topics {
			rt := kmsg.NewDeleteRecordsResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewDeleteRecordsResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
	case *kmsg.MetadataResponse:
		resp.ErrorCode = code
		for _, t := range req.(*kmsg.MetadataRequest).Topics {
			rt := kmsg.NewMetadataResponseTopic()
			rt.ErrorCode, rt.Topic, rt.TopicID = code, t.Topic, t.TopicID
			resp.Topics = append(resp.Topics, rt)
		}
	default:
		return nil
	}
	return resp
}

func refuseCoordinator(req *kmsg.FindCoordinatorRequest, resp *kmsg.FindCoordinatorResponse, code int16) {
	resp.ErrorCode, resp.NodeID, resp.Port = code, -1, -1
	for _, key := range req.CoordinatorKeys {
		c := kmsg.NewFindCoordinatorResponseCoordinator()
		c.Key, c.ErrorCode, c.NodeID, c.Port = key, code, -1, -1
		resp.Coordinators = append(resp.Coordinators, c)
	}
}

func refuseAddPartitions(req *kmsg.AddPartitionsToTxnRequest, resp *kmsg.AddPartitionsToTxnResponse, code int16) {
	resp.ErrorCode = code
	topics := func(asked []kmsg.AddPartitionsToTxnRequestTopic) (out []kmsg.AddPartitionsToTxnResponseTopic) {
		for _, t := range asked {
			rt := kmsg.NewAddPartitionsToTxnResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			out = append(out, rt)
		}
		return out
	}
	resp.Topics = topics(req.Topics)
}
