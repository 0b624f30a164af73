package runtime

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
)

// filesOf are the files of a store, with what the configuration says about them.
func (a *attempt) filesOf(store checkpoint.Store) *checkpoint.Files {
	f := checkpoint.NewFiles(store, a.cfg.Listener)
	f.Fault = a.cfg.Fault
	return f
}

// faultHooks are options of a client that takes the step between a request to commit and its answer.
func faultHooks(h fault.Hook) []kgo.Opt {
	if h == nil {
		return nil
	}
	return []kgo.Opt{kgo.WithHooks(commitHook{h})}
}

type commitHook struct{ fault.Hook }

// OnBrokerWrite is called when a request has been written to a connection.
func (h commitHook) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key == int16(kmsg.EndTxn) && err == nil {
		h.At(fault.CommitSent)
	}
}

var _ kgo.HookBrokerWrite = commitHook{}
