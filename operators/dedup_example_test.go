package operators_test

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

// again is where what came a second time goes.
var again = operators.Tag[Order]{Name: "again"}

// Order is what the job reads; its ID is the key.
type Order struct {
	ID     string
	Amount int
}

// once passes on the first order of each ID within a day of event time, and the others to a side output.
type once struct {
	operators.NoTimers[Order]
	seen  *operators.Value[bool]
	again stream.Emit[Order]
}

// Open declares states and side outputs.
func (o *once) Open(ctx *operators.Context) (err error) {
	o.again = operators.Output(ctx, again)
	o.seen, err = operators.NewValue[bool](ctx, "seen", nil, operators.TTL{After: 24 * time.Hour, Time: operators.TTLEventTime})
	return err
}

// Process is called for each order; states answer for its key.
func (o *once) Process(_ *operators.ProcessContext, ev *stream.Event[Order], emit func(Order) error) error {
	_, ok, err := o.seen.Get()
	switch {
	case err != nil:
		return err
	case ok:
		return o.again(ev)
	}
	if err := o.seen.Put(true); err != nil {
		return err
	}
	return emit(ev.Value)
}

func ExampleProcess_deduplication() {
	side := operatortest.NewSide(again)
	h := operatortest.New(nil, operators.Process(func() operators.Processor[Order, Order] { return new(once) }), side)
	day := (24 * time.Hour).Milliseconds()
	h.Process("17", Order{"17", 5}, 0)
	h.Process("17", Order{"17", 5}, 1_000)
	h.Process("17", Order{"17", 7}, day+1)
	fmt.Println(h.Values(), len(side.Output()))
	// Output: [{17 5} {17 7}] 1
}
