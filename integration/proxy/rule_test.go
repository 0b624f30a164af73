package proxy

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// initProducer asks the coordinator of "tx" for the next epoch, once.
func initProducer(ctx context.Context, cl *kgo.Client) (int16, error) {
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorType, find.CoordinatorKey, find.CoordinatorKeys = 1, "tx", []string{"tx"}
	found, err := find.RequestWith(ctx, cl)
	if err != nil {
		return 0, err
	}
	node := found.NodeID
	if len(found.Coordinators) > 0 {
		node = found.Coordinators[0].NodeID
	}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = kmsg.StringPtr("tx"), 60000
	req.ProducerID, req.ProducerEpoch = -1, -1
	r, err := cl.Broker(int(node)).Request(ctx, req)
	if err != nil {
		return 0, err
	}
	resp := r.(*kmsg.InitProducerIDResponse)
	return resp.ProducerEpoch, kerr.ErrorForCode(resp.ErrorCode)
}

func TestActions(t *testing.T) {
	lost := errors.New("any error of the connection")
	for _, row := range []struct {
		name   string
		action Action
		// What the client gets, relative to the epoch before: an epoch, or an error.
		epoch int16
		err   error
		// What the broker did, in epochs.
		done int16
	}{
		{"nothing", Action{}, 1, nil, 1},
		{"drop answer", DropAnswer(), 0, lost, 1},
		{"drop request", DropRequest(), 0, lost, 0},
		{"duplicate", Duplicate(), 1, nil, 2},
		{"duplicate, last answer", DuplicateLast(), 2, nil, 2},
		{"delay request", DelayRequest(50 * time.Millisecond), 1, nil, 1},
		{"delay answer", DelayAnswer(50 * time.Millisecond), 1, nil, 1},
		{"refuse", Refuse(kerr.NotCoordinator), 0, kerr.NotCoordinator, 0},
		{"answer with", AnswerWith(kerr.ProducerFenced), 0, kerr.ProducerFenced, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, p := behind(t)
			direct, through := client(t, c.ListenAddrs()), client(t, []string{p.Addr()})
			ctx := within(t, 20*time.Second)
			before, err := initProducer(ctx, direct)
			if err != nil {
				t.Fatal(err)
			}
			hit := p.Add(Rule{Key: kmsg.InitProducerID, Match: InTransaction("t"), Action: row.action})
			began := time.Now()
			got, err := initProducer(ctx, through)
			switch {
			case row.err == lost:
				var ke *kerr.Error
				if err == nil || errors.As(err, &ke) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
			case !errors.Is(err, row.err):
				t.Errorf("error %v, want %v", err, row.err)
			case err == nil && got != before+row.epoch:
				t.Errorf("epoch %d after %d, want %d more", got, before, row.epoch)
			}
			if took := time.Since(began); took < row.action.delay {
				t.Errorf("answered after %s", took)
			}
			if hit.Fired() != 1 || hit.Wait(ctx, 1) != nil {
				t.Errorf("fired %d times", hit.Fired())
			}
			if err := hit.WaitAnswered(ctx, int(row.done)); err != nil || len(hit.Answers()) != int(row.done) {
				t.Errorf("%d answers of the broker, want %d", len(hit.Answers()), row.done)
			}
			// The rule is used up, and the client can go on.
			after, err := initProducer(ctx, through)
			if err != nil || after != before+row.done+1 {
				t.Errorf("epoch %d and error %v afterwards, want %d", after, err, before+row.done+1)
			}
		})
	}
}

func TestADelayedRequestArrivesWhenItsClientIsGone(t *testing.T) {
	c, p := behind(t)
	direct, through := client(t, c.ListenAddrs()), client(t, []string{p.Addr()})
	ctx := within(t, 20*time.Second)
	before, err := initProducer(ctx, direct)
	if err != nil {
		t.Fatal(err)
	}
	hit := p.Add(Rule{Key: kmsg.InitProducerID, Action: DelayRequest(300 * time.Millisecond)})
	gaveUp := make(chan error, 1)
	short, cancel := context.WithCancel(ctx)
	go func() {
		_, err := initProducer(short, through)
		gaveUp <- err
	}()
	if err := hit.Wait(ctx, 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if <-gaveUp == nil {
		t.Fatal("an answer before its time")
	}
	through.Close()
	poll(t, "the end of the connections", func() bool { return p.Connections() == 0 })
	if after, err := initProducer(ctx, direct); err != nil || after != before+2 {
		t.Errorf("epoch %d and error %v, want %d", after, err, before+2)
	}
}

func TestRulesCountAndSkip(t *testing.T) {
	_, p := behind(t)
	cl := client(t, []string{p.Addr()})
	ctx := within(t, 20*time.Second)
	third := p.Add(Rule{Key: kmsg.InitProducerID, Skip: 2, Action: Refuse(kerr.NotCoordinator)})
	other := p.Add(Rule{Key: kmsg.InitProducerID, ClientID: "somebody", Times: -1, Action: DropRequest()})
	for i := range 5 {
		_, err := initProducer(ctx, cl)
		if refused := errors.Is(err, kerr.NotCoordinator); refused != (i == 2) || err != nil && !refused {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if third.Seen() != 5 || third.Fired() != 1 || other.Seen() != 0 {
		t.Errorf("seen %d, fired %d, seen of another client %d", third.Seen(), third.Fired(), other.Seen())
	}
	all := p.Add(Rule{Key: kmsg.InitProducerID, Times: -1, Action: Refuse(kerr.NotCoordinator)})
	for range 3 {
		if _, err := initProducer(ctx, cl); !errors.Is(err, kerr.NotCoordinator) {
			t.Errorf("not refused: %v", err)
		}
	}
	all.Remove()
	if _, err := initProducer(ctx, cl); err != nil {
		t.Errorf("refused after the rule was removed: %v", err)
	}
}

// poll waits until a condition holds.
func poll(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx := within(t, 20*time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not in time: %s", what)
		}
	}
}
