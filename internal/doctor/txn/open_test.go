package txn

import (
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// between runs something when a client has got the answers to the first request of a kind, and before it uses them.
type between struct {
	kgo.HookBrokerE2E
	key  int16
	once sync.Once
	do   func()
}

func (b *between) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, _ kgo.BrokerE2E) {
	if key == b.key {
		b.once.Do(b.do)
	}
}

func client(t *testing.T, address string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(address))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// A job that runs commits all the time: what a leader has said is over when the coordinator is asked.
func TestTransactionThatIsCommittedMeanwhileIsNotReported(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	address := cluster.ListenAddrs()[0]
	owner := client(t, address, kgo.TransactionalID("id"), kgo.DefaultProduceTopic("t"))
	begin := func() {
		if err := owner.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := owner.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	commit := func() {
		if err := owner.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Error(err)
		}
	}
	partitions := map[string][]int32{"t": {0}}
	for name, meanwhile := range map[string]func(){
		"committed":                       commit,
		"committed, and the next is open": func() { commit(); begin() },
		"two more":                        func() { commit(); begin(); commit(); begin() },
	} {
		begin()
		asker := client(t, address, kgo.WithHooks(&between{key: kmsg.DescribeProducers.Int16(), do: meanwhile}))
		open, errs := Producers(t.Context(), asker, partitions)
		for _, o := range open {
			if v := o.Verdict(); v != Ends {
				t.Errorf("%s: %s of offset %d", name, v, o.Start)
			}
		}
		if len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
		if name != "committed" {
			commit()
		}
	}
	begin()
	if open, _ := Producers(t.Context(), client(t, address), partitions); len(open) != 1 || open[0].Verdict() != Ends {
		t.Errorf("%+v", open)
	}
	blocks, _ := Blocked(t.Context(), owner, partitions)
	if got := Still(t.Context(), owner, blocks); len(blocks) != 1 || len(got) != 1 {
		t.Errorf("%v, then %v", blocks, got)
	}
	commit()
	begin()
	if got := Still(t.Context(), owner, blocks); len(got) != 0 {
		t.Errorf("over, and still %v", got)
	}
}
