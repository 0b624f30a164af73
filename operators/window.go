package operators

import (
	"fmt"
	"time"
)

// Assigner says which windows an event falls into: [Tumbling], [Hopping] or [Session].
type Assigner struct {
	// size is the length of a window, the gap of a session; slide is the distance between two starts. Milliseconds.
	size, slide, offset int64
	session             bool
	text                string
	err                 error
}

// Tumbling divides time into windows of one size, each of which begins where the one before ends; one begins at the Unix
// epoch.
func Tumbling(size time.Duration) Assigner {
	a := Assigner{text: fmt.Sprintf("tumbling(%s)", size)}
	a.size = a.millis("size", size)
	a.slide = a.size
	return a
}

// Hopping divides time into windows that begin slide apart and last size: an event falls into size/slide of them (or one
// more or less, if slide does not divide size; or none, if slide is larger).
func Hopping(size, slide time.Duration) Assigner {
	a := Assigner{text: fmt.Sprintf("hopping(%s, %s)", size, slide)}
	a.size = a.millis("size", size)
	a.slide = a.millis("slide", slide)
	return a
}

// Session gives each key windows of its own: one begins with an event and ends gap after its last one. An event that
// comes between two sessions, at most gap from each, merges them.
func Session(gap time.Duration) Assigner {
	a := Assigner{session: true, text: "session"}
	a.size = a.millis("gap", gap)
	return a
}

// WithOffset moves the windows of [Tumbling] and [Hopping]: one begins at the epoch plus offset, which may be negative. It
// is called once.
func (a Assigner) WithOffset(offset time.Duration) Assigner {
	switch {
	case a.err != nil || a.size == 0 || offset == 0:
	case a.session:
		a.err = fmt.Errorf("session windows have no offset")
	case offset%time.Millisecond != 0:
		a.err = fmt.Errorf("offset %s is not a whole number of milliseconds", offset)
	default:
		a.offset = (offset.Milliseconds()%a.slide + a.slide) % a.slide
		if a.offset != 0 {
			a.text = fmt.Sprintf("%s+%s", a.text, time.Duration(a.offset)*time.Millisecond)
		}
	}
	return a
}

func (a *Assigner) millis(name string, d time.Duration) int64 {
	switch {
	case a.err != nil:
	case d <= 0:
		a.err = fmt.Errorf("%s %s is not positive", name, d)
	case d%time.Millisecond != 0:
		a.err = fmt.Errorf("%s %s is not a whole number of milliseconds", name, d)
	}
	return d.Milliseconds()
}

// lastStart is the start of the last window that may hold ts: the greatest one that is not after ts.
func (a *Assigner) lastStart(ts int64) int64 {
	r := (ts - a.offset) % a.slide
	if r < 0 {
		r += a.slide
	}
	return subTime(ts, r)
}

// WindowOptions are the options that all windowed operators share.
type WindowOptions[In any] struct {
	// AllowedLateness keeps a window's state for so long after the watermark has passed its end. An event that comes in
	// that time makes the window emit again, at once. Zero drops the state when the window fires.
	AllowedLateness time.Duration
	// Late is the side output of the events that came after their window was dropped. They are counted in any case.
	Late Tag[In]
}

func checkWindow[In, Acc, Out any](kind string, a Assigner, agg *Aggregator[In, Acc, Out], opts WindowOptions[In]) error {
	switch {
	case a.err != nil:
		return fmt.Errorf("%s: %w", kind, a.err)
	case a.size == 0:
		return fmt.Errorf("%s: no window: use Tumbling, Hopping or Session", kind)
	case opts.AllowedLateness < 0:
		return fmt.Errorf("%s: allowed lateness %s is negative", kind, opts.AllowedLateness)
	}
	return agg.check(kind, a.session)
}

// typed is codec, CBOR if nil, with the windows in its type: state of other windows is refused at a restore.
func typed[V any](codec Codec[V], windows string) Codec[V] {
	if codec == nil {
		codec = CBOR[V](1)
	}
	return windowCodec[V]{codec, windows}
}

type windowCodec[V any] struct {
	Codec[V]
	windows string
}

func (c windowCodec[V]) Type() string { return c.Codec.Type() + " in " + c.windows }
