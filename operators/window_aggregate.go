package operators

import "github.com/weirstream/weir/stream"

// WindowAggregate aggregates the values of each key and window and emits the result when the watermark reaches the
// window's last millisecond. A result's timestamp is that last millisecond; it has no headers.
func WindowAggregate[In, Acc, Out any](windows Assigner, agg Aggregator[In, Acc, Out], opts WindowOptions[In]) Spec[In, Out] {
	return windowSpec("window_aggregate", windows, agg, opts)
}

func windowSpec[In, Acc, Out any](kind string, windows Assigner, agg Aggregator[In, Acc, Out], opts WindowOptions[In]) Spec[In, Out] {
	return Spec[In, Out]{
		Kind:      kind,
		Keyed:     true,
		EventTime: true,
		Err:       checkWindow(kind, windows, &agg, opts),
		New: func() Operator[In, Out] {
			base := windowBase[In, Acc, Out]{windows: windows, agg: agg, late: opts.Late, lateness: ceilMillis(opts.AllowedLateness)}
			if windows.session {
				return &sessionWindows[In, Acc, Out]{windowBase: base}
			}
			return &fixedWindows[In, Acc, Out]{windowBase: base}
		},
	}
}

// windowBase is what fixed and session windows share.
type windowBase[In, Acc, Out any] struct {
	windows  Assigner
	agg      Aggregator[In, Acc, Out]
	late     Tag[In]
	lateness int64

	ctx       *Context
	lateOut   stream.Emit[In] // nil if nobody reads it
	watermark int64
	out       stream.Event[Out]
}

func (o *windowBase[In, Acc, Out]) open(ctx *Context) {
	o.ctx = ctx
	o.watermark = stream.MinTime
	o.lateOut = sideOutput(ctx, o.late)
}

// fireAt is when a window that ends at end fires, dropAt when its state goes.
func (o *windowBase[In, Acc, Out]) fireAt(end int64) int64 { return end - 1 }
func (o *windowBase[In, Acc, Out]) dropAt(end int64) int64 { return addTime(end-1, o.lateness) }

// fire emits the result of a pane of the current key, which key is too: in bytes that stay.
func (o *windowBase[In, Acc, Out]) fire(start, end int64, key string, acc Acc, emit stream.Emit[Out]) error {
	v, err := o.agg.Result(Pane{Key: key, Start: start, End: end}, acc)
	if err != nil {
		return err
	}
	o.out = stream.Event[Out]{Value: v, Timestamp: end - 1, Key: keyBytes(key), Group: o.ctx.Group(), Hash: o.ctx.key.hash}
	return emit(&o.out)
}

// tooLate counts an event all of whose windows have been dropped, and sends it to the side output.
func (o *windowBase[In, Acc, Out]) tooLate(ev *stream.Event[In]) error {
	return tooLate(o.ctx, ev, o.lateOut)
}

// tooLate counts an event that came too late, and sends it to a side output, if it is not nil.
func tooLate[In any](ctx *Context, ev *stream.Event[In], side stream.Emit[In]) error {
	if ctx.Late != nil {
		ctx.Late()
	}
	if side == nil {
		return nil
	}
	return side(ev)
}
