package proxy

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ask asks any broker something small, once.
func ask(ctx context.Context, cl *kgo.Client) error {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	_, err := cl.SeedBrokers()[0].Request(ctx, req)
	return err
}

func produce(ctx context.Context, cl *kgo.Client, size int) error {
	value := make([]byte, size)
	for i := range value {
		value[i] = byte(i * i >> 3)
	}
	return cl.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: value}).FirstErr()
}

func TestACutLinkRefusesUntilItIsHealed(t *testing.T) {
	_, p := behind(t)
	cl := client(t, []string{p.Addr()})
	ctx := within(t, 20*time.Second)
	if err := ask(ctx, cl); err != nil {
		t.Fatal(err)
	}
	cut := p.Cut(Link{})
	poll(t, "no connection", func() bool { return p.Connections() == 0 })
	if err := ask(ctx, cl); err == nil || ctx.Err() != nil {
		t.Errorf("an answer through a cut link: %v", err)
	}
	if cut.Touched() < 1 {
		t.Error("the fault has met no connection")
	}
	cut.Heal()
	if err := ask(ctx, cl); err != nil {
		t.Errorf("after healing: %v", err)
	}
}

func TestALinkFaultIsOnConnectionsThatCarryAKindOfRequest(t *testing.T) {
	_, p := behind(t)
	cl := client(t, []string{p.Addr()}, kgo.DisableIdempotentWrite(), kgo.RecordRetries(3), kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }))
	ctx := within(t, 20*time.Second)
	cut := p.Cut(Link{Keys: []kmsg.Key{kmsg.Produce}})
	if err := ask(ctx, cl); err != nil {
		t.Errorf("another connection is cut too: %v", err)
	}
	if err := produce(ctx, cl, 10); err == nil || ctx.Err() != nil {
		t.Errorf("produced through a cut link: %v", err)
	}
	cut.Heal()
	if err := produce(ctx, cl, 10); err != nil {
		t.Errorf("after healing: %v", err)
	}
}

func TestAHalfOpenLinkSwallowsAndStaysOpen(t *testing.T) {
	_, p := behind(t)
	cl := client(t, []string{p.Addr()})
	ctx := within(t, 20*time.Second)
	if err := ask(ctx, cl); err != nil {
		t.Fatal(err)
	}
	open := p.Connections()
	p.HalfOpen(Link{})
	short := within(t, 200*time.Millisecond)
	if err := ask(short, cl); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if n := p.Connections(); n < open {
		t.Errorf("%d connections, %d before", n, open)
	}
	// What has missed something is closed, and new connections work.
	p.Heal()
	if err := ask(ctx, cl); err != nil {
		if err = ask(ctx, cl); err != nil {
			t.Errorf("after healing: %v", err)
		}
	}
}

// A middlebox that has forgotten its connections: old ones are silent for good, new ones work.
func TestOnlyExistingConnectionsAreHalfOpen(t *testing.T) {
	_, p := behind(t)
	old, other := client(t, []string{p.Addr()}), client(t, []string{p.Addr()})
	ctx := within(t, 20*time.Second)
	if err := ask(ctx, old); err != nil {
		t.Fatal(err)
	}
	p.HalfOpen(Link{Existing: true})
	if err := ask(within(t, 200*time.Millisecond), old); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if err := ask(ctx, other); err != nil {
		t.Errorf("a new connection: %v", err)
	}
}

func TestLatencyIsAddedToEachExchange(t *testing.T) {
	_, p := behind(t)
	cl := client(t, []string{p.Addr()})
	ctx := within(t, 20*time.Second)
	if err := ask(ctx, cl); err != nil {
		t.Fatal(err)
	}
	const d = 200 * time.Millisecond
	p.Latency(Link{}, d)
	began := time.Now()
	if err := ask(ctx, cl); err != nil || time.Since(began) < d {
		t.Errorf("answered after %s: %v", time.Since(began), err)
	}
	// Healing lets go what waits.
	slow := p.Latency(Link{}, time.Hour)
	done := make(chan error, 1)
	go func() { done <- ask(ctx, cl) }()
	poll(t, "the fault meets the connection", func() bool { return slow.Touched() > 0 })
	p.Heal()
	if err := <-done; err != nil {
		t.Errorf("after healing: %v", err)
	}
}

func TestBandwidthIsShared(t *testing.T) {
	_, p := behind(t)
	cl := client(t, []string{p.Addr()}, kgo.ProducerBatchCompression(kgo.NoCompression()))
	ctx := within(t, 20*time.Second)
	if err := produce(ctx, cl, 10); err != nil {
		t.Fatal(err)
	}
	p.Bandwidth(Link{Keys: []kmsg.Key{kmsg.Produce}}, 50_000)
	began := time.Now()
	if err := produce(ctx, cl, 20_000); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 350*time.Millisecond || took > 10*time.Second {
		t.Errorf("20 kB at 50 kB/s took %s", took)
	}
}

func TestRequestsWithoutAnAnswerAreKnown(t *testing.T) {
	for _, acks := range []int16{0, 1, -1} {
		for _, id := range []*string{nil, kmsg.StringPtr(""), kmsg.StringPtr("tx")} {
			for version := int16(0); version <= kmsg.Produce.Request().MaxVersion(); version++ {
				body := kmsg.NewPtrProduceRequest()
				body.Acks, body.TransactionID, body.Version = acks, id, version
				frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("me")).AppendRequest(nil, body, 7)
				q, err := parseRequest(frame)
				if err != nil {
					t.Fatal(err)
				}
				if q.silent() != (acks == 0) || q.ClientID != "me" {
					t.Errorf("version %d, acks %d: silent %v, client %q", version, acks, q.silent(), q.ClientID)
				}
				if q.decode(); !bytes.Equal(q.Body.AppendTo(nil), body.AppendTo(nil)) {
					t.Errorf("version %d: decoded otherwise", version)
				}
			}
		}
	}
}
