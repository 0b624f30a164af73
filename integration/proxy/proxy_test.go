package proxy

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestAClientStaysBehindTheProxy(t *testing.T) {
	c, p := behind(t)
	var d dialed
	cl := client(t, []string{p.Addr()}, d.option(), kgo.ConsumeTopics("t"), kgo.DisableFetchSessions(), kgo.ConsumerGroup("g"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx := within(t, 30*time.Second)
	const records = 500
	for i := range records {
		cl.Produce(ctx, &kgo.Record{Topic: "t", Key: fmt.Append(nil, i), Value: fmt.Append(nil, i)}, nil)
	}
	if err := cl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for len(seen) < records {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { seen[string(r.Value)] = true })
	}
	metadata, err := kadm.NewClient(cl).BrokerMetadata(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(metadata.Brokers) != 3 {
		t.Errorf("%d brokers", len(metadata.Brokers))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for addr := range d.addrs {
		if slices.Contains(c.ListenAddrs(), addr) {
			t.Errorf("the client has connected to the broker at %s", addr)
		}
	}
	// The first door, and those of the brokers that lead something.
	if len(d.addrs) < 2 || len(d.addrs) > 4 {
		t.Errorf("the client has connected to %d addresses", len(d.addrs))
	}
	for _, key := range []kmsg.Key{kmsg.Produce, kmsg.Fetch, kmsg.JoinGroup} {
		if p.Count(key) == 0 {
			t.Errorf("no %s passed", key.Name())
		}
	}
}

// Answers that say that a leader has moved name the new one's address.
func TestAddressesOfNewLeadersAreRewritten(t *testing.T) {
	_, p := behind(t)
	host, port := "127.0.0.1", int32(1234)
	for _, r := range []kmsg.Response{
		&kmsg.ProduceResponse{Version: 10, Brokers: []kmsg.ProduceResponseBroker{{NodeID: 1, Host: host, Port: port}}},
		&kmsg.FetchResponse{Version: 16, Brokers: []kmsg.FetchResponseBroker{{NodeID: 1, Host: host, Port: port}}},
		&kmsg.DescribeClusterResponse{Brokers: []kmsg.DescribeClusterResponseBroker{{NodeID: 1, Host: host, Port: port}}},
		&kmsg.FindCoordinatorResponse{NodeID: 1, Host: host, Port: port},
		&kmsg.FindCoordinatorResponse{Version: 4, Coordinators: []kmsg.FindCoordinatorResponseCoordinator{{NodeID: 1, Host: host, Port: port}}},
	} {
		frame := encodeAnswer([4]byte{1, 2, 3, 4}, r)
		frame, err := p.rewrite(kmsg.Key(r.Key()), r.GetVersion(), frame)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeAnswer(kmsg.Key(r.Key()), r.GetVersion(), frame)
		if err != nil {
			t.Fatal(err)
		}
		var at int32
		switch got := got.(type) {
		case *kmsg.ProduceResponse:
			at = got.Brokers[0].Port
		case *kmsg.FetchResponse:
			at = got.Brokers[0].Port
		case *kmsg.DescribeClusterResponse:
			at = got.Brokers[0].Port
		case *kmsg.FindCoordinatorResponse:
			at = got.Port
			if len(got.Coordinators) > 0 {
				at = got.Coordinators[0].Port
			}
		}
		if at == port || at == 0 {
			t.Errorf("%T still names port %d", got, at)
		}
	}
}

func TestABrokerThatIsAwayClosesTheConnection(t *testing.T) {
	p, err := Start(Options{Brokers: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	cl := client(t, []string{p.Addr()})
	req := kmsg.NewPtrApiVersionsRequest()
	if _, err := cl.SeedBrokers()[0].Request(within(t, 10*time.Second), req); err == nil {
		t.Error("an answer without a broker")
	}
}
