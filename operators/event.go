package operators

import (
	"fmt"
	"unsafe"

	"github.com/weirstream/weir/stream"
)

// derive makes out the result that in leads to: another value, all else as in the input.
func derive[In, Out any](out *stream.Event[Out], in *stream.Event[In], v Out) {
	out.Value = v
	out.Timestamp = in.Timestamp
	out.Key = in.Key
	out.Headers = in.Headers
	out.Split = in.Split
	out.Group = in.Group
	out.Hash = in.Hash
}

// keyString and keyBytes change the view of a key and not its bytes, which nobody ever changes (package stream).
func keyString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func keyBytes(s string) []byte {
	if s == "" {
		return []byte{} // a result always has a key; nil would be Kafka's null
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// keyCopies copies keys that results hand on, many to an allocation, which lives as long as one of them.
type keyCopies struct{ rest []byte }

func (k *keyCopies) copy(key string) string {
	if len(k.rest) < len(key) {
		k.rest = make([]byte, max(len(key), 4096))
	}
	n := copy(k.rest, key)
	kept := keyString(k.rest[:n:n])
	k.rest = k.rest[n:]
	return kept
}

// setKey makes the event's key the current one.
func setKey[T any](ctx *Context, ev *stream.Event[T]) {
	ctx.key = currentKey{ev.Group, keyString(ev.Key), hashOf(ev)}
	ctx.times.event = ev.Timestamp
}

func needFunc(kind string, missing bool) error {
	if missing {
		return fmt.Errorf("%s: no function", kind)
	}
	return nil
}
