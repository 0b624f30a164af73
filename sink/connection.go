package sink

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// connection is what to send the request on. A broker works on the requests of a connection one after the other, on one core: so
// the second sender asks for a connection of its own, once it has much to send, and uses it from when it is there.
func (s *sender) connection() (conn *kgo.Broker, own bool) {
	if !s.second {
		return s.to.conn, false
	}
	if !s.asked && s.size >= largeRequest {
		s.asked = true
		s.t.spawn(func(ctx context.Context) { s.t.connectAgain(ctx, s.to) })
	}
	if conn := s.to.second.Load(); conn != nil {
		return conn, true
	}
	return s.to.conn, false
}

// connectAgain connects to a broker a second time. If that fails, one connection does.
func (t *KafkaTransactions) connectAgain(ctx context.Context, b *broker) {
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	cl, err := t.secondClient()
	if err == nil {
		conn := cl.Broker(int(b.id))
		ping := kmsg.NewPtrMetadataRequest()
		ping.Topics = []kmsg.MetadataRequestTopic{}
		if _, err = conn.Request(ctx, ping); err == nil {
			b.second.Store(conn)
		}
	}
	if err != nil && t.Err() == nil {
		t.config.Logger.Info("one connection to a broker has to do for all that is written", "broker", b.id, "error", err)
	}
}

// secondClient makes a client like the first, whose connections are its own.
func (t *KafkaTransactions) secondClient() (*kgo.Client, error) {
	t.secondMu.Lock()
	defer t.secondMu.Unlock()
	var err error
	if t.second == nil {
		t.second, err = kgo.NewClient(t.client.Opts()...)
	}
	return t.second, err
}
