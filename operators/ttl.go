package operators

import (
	"fmt"

	"github.com/weirstream/weir/stream"
)

// WithTTL lets the state of [Count], [Reduce] and [Aggregate] expire: the next event of a key whose state has expired is
// taken as its first. With event time the operator needs an event_time step before it, like windows do.
func WithTTL[In, Out any](spec Spec[In, Out], ttl TTL) Spec[In, Out] {
	if spec.Err != nil {
		return spec
	}
	if err := ttl.check(); err != nil {
		spec.Err = fmt.Errorf("%s: %w", spec.Kind, err)
		return spec
	}
	if _, ok := spec.New().(expiring); !ok {
		spec.Err = fmt.Errorf("%s: its state has no TTL: only those of count, reduce and aggregate have", spec.Kind)
		return spec
	}
	spec.EventTime = spec.EventTime || ttl.Time == TTLEventTime
	made := spec.New
	spec.New = func() Operator[In, Out] {
		op := made()
		op.(expiring).expireAfter(ttl)
		return op
	}
	return spec
}

// expiring is an operator whose state may expire.
type expiring interface{ expireAfter(TTL) }

// ttls is embedded in operators whose state may expire.
type ttls struct{ ttl []TTL }

func (t *ttls) expireAfter(ttl TTL) { t.ttl = []TTL{ttl} }

// OnWatermark implements [WatermarkHandler] for the operators that have a state with a TTL and nothing else to do.
func (o *count[T]) OnWatermark(watermark int64, _ stream.Emit[KeyCount]) error {
	o.ctx.times.watermark = watermark
	return nil
}

// OnWatermark implements [WatermarkHandler].
func (o *reduce[T]) OnWatermark(watermark int64, _ stream.Emit[T]) error {
	o.ctx.times.watermark = watermark
	return nil
}

// OnWatermark implements [WatermarkHandler].
func (o *aggregate[In, Acc, Out]) OnWatermark(watermark int64, _ stream.Emit[Out]) error {
	o.ctx.times.watermark = watermark
	return nil
}
