package sink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A process that has been replaced may still delete pointers that its last commit did not list any more, while the new one
// reads backwards across them. The last pointer, which is not among them, is found all the same.
func TestReadingBackwardsOutlivesAZombiesDeletion(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1))
	cl := newClient(t, c)
	ctx := testContext(t)
	log, txns := logAndTransactions(t, cl, LogConfig{})
	var at int64
	for checkpoint := int64(1); checkpoint <= 20; checkpoint++ {
		offset, err := txns.WritePointer(ctx, checkpoint, fmt.Appendf(nil, "pointer %d", checkpoint))
		must(t, err)
		must(t, txns.Commit(ctx, checkpoint))
		at = offset
	}
	for range 10 { // behind it stand aborted ones, so that more than one piece has to be read
		txns.Close()
		txns = fencedAttempt(t, cl, log)
		_, err := txns.WritePointer(ctx, 21, []byte("never committed"))
		must(t, err)
	}
	fencedAttempt(t, cl, log)

	zombie := newLog(t, newClient(t, c), LogConfig{})
	must(t, zombie.Ensure(ctx))
	var once sync.Once
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		once.Do(func() {
			c.SleepControl(func() {
				if err := zombie.DeleteBefore(ctx, at); err != nil {
					t.Error(err)
				}
			})
		})
		return nil, nil, false
	})
	last, err := log.Last(ctx)
	must(t, err)
	if last == nil || last.Offset != at || string(last.Value) != "pointer 20" {
		t.Fatalf("last pointer %+v, want that at %d", last, at)
	}
	if list, err := log.List(ctx, 5); err != nil || len(list) != 1 {
		t.Errorf("%d pointers are left, %v", len(list), err)
	}
}

// requests counts what one client asks for, by kind.
type requests struct {
	mu sync.Mutex
	n  map[int16]int
}

func (r *requests) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n[key]++
}

func (r *requests) count(key kmsg.Key) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n[int16(key)]
}

// An attempt asks for producers once, when it fences, and ends a transaction only to commit it. One that was fenced asks for
// nothing of the kind any more, whatever it is told to do: it could take the slot back, or abort what is not its own.
func TestAFencedAttemptNeitherFencesBackNorEndsATransaction(t *testing.T) {
	for _, version := range []int16{2, 0} {
		t.Run(fmt.Sprintf("transaction.version %d", version), func(t *testing.T) {
			c := newCluster(t)
			setVersion(t, newClient(t, c), version)
			aborts := 0
			c.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				if !req.(*kmsg.EndTxnRequest).Commit {
					aborts++
				}
				return nil, nil, false
			})
			sent := &requests{n: map[int16]int{}}
			ctx := testContext(t)
			first := newTransactions(t, testConfig(newClient(t, c, kgo.WithHooks(sent))))
			must(t, first.Fence(ctx))
			first.Begin(1)
			w, err := first.Writer(ctx, "out")
			must(t, err)
			must(t, w.Write(record("a", "1")))
			must(t, w.Barrier(1))
			must(t, complete(ctx, first, 1))
			fences, ends := sent.count(kmsg.InitProducerID), sent.count(kmsg.EndTxn)
			if fences < Slots || ends != 1 {
				t.Fatalf("%d InitProducerID and %d EndTxn requests for %d slots and a commit", fences, ends, Slots)
			}
			// With a transaction open in one slot and records on their way in the next.
			must(t, w.Write(record("a", "2")))
			must(t, w.Barrier(2))
			must(t, first.Flush(ctx, 2))

			second := newTransactions(t, testConfig(newClient(t, c)))
			must(t, second.Fence(ctx))
			must(t, complete(ctx, second, 2))

			// It has not noticed yet, and is told so by the first answer; then it is told to do everything there is.
			var fenced *FencedError
			if _, err := first.WritePointer(ctx, 2, []byte("of a zombie")); !errors.As(err, &fenced) {
				t.Errorf("the pointer of a fenced attempt: %v", err)
			}
			<-first.Failed()
			for name, err := range map[string]error{
				"write": w.Write(record("a", "3")), "barrier": w.Barrier(3), "flush": first.Flush(ctx, 3),
				"complete": complete(ctx, first, 3), "commit": first.Commit(ctx, 2), "fence": first.Fence(ctx),
			} {
				if !errors.As(err, &fenced) {
					t.Errorf("%s after the fencing: %v", name, err)
				}
			}
			if taken, known, err := first.Taken(ctx); !taken || !known || err != nil {
				t.Errorf("taken %v, known %v, %v", taken, known, err)
			}
			first.Close()
			if f, e := sent.count(kmsg.InitProducerID), sent.count(kmsg.EndTxn); f != fences || e != ends {
				t.Errorf("%d InitProducerID and %d EndTxn requests by a fenced attempt", f-fences, e-ends)
			}
			if aborts != 0 {
				t.Errorf("%d transactions were aborted by request", aborts)
			}
			must(t, complete(ctx, second, 3)) // nobody is in its way
		})
	}
}

// An attempt that ends for any other reason leaves its transactions to the next fencing, or to their timeout: it does not
// know whose they are by then.
func TestAnAttemptThatFailsAbortsNothing(t *testing.T) {
	c := newCluster(t)
	broken := make(chan struct{})
	sent := &requests{n: map[int16]int{}}
	cl := newClient(t, c, kgo.WithHooks(sent), kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		select {
		case <-broken:
			return nil, errors.New("no route to host")
		default:
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
	}))
	ctx := testContext(t)
	conf := testConfig(cl)
	conf.RequestTimeout = 300 * time.Millisecond
	txns := newTransactions(t, conf)
	w := startWriting(t, txns, "out")
	must(t, w.Write(record("a", "1")))
	must(t, w.Barrier(1))
	must(t, txns.Flush(ctx, 1))
	fences := sent.count(kmsg.InitProducerID)
	close(broken)
	must(t, w.Write(record("a", "2")))
	txns.fail(errors.New("a subtask failed"))
	<-txns.Failed()
	txns.Close()
	if f, e := sent.count(kmsg.InitProducerID), sent.count(kmsg.EndTxn); f != fences || e != 0 {
		t.Errorf("%d InitProducerID and %d EndTxn requests after the end", f-fences, e)
	}
}
