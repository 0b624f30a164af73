package row

// Row is one record: a value for each field of its schema. That of a source may have fewer or more values, see [Wants].
type Row struct{ Values []Value }

// Arena hands out the values of rows, and bytes, from larger blocks, so that a record costs no allocation of its own. A block
// is garbage once nothing that was taken from it is in use. An Arena belongs to one goroutine.
type Arena struct {
	values []Value
	bytes  []byte
}

const (
	valueBlock = 511 // with the runtime's header it fills a size class
	byteBlock  = 16 << 10
)

// Row returns a new row with n null values.
func (a *Arena) Row(n int) Row {
	if len(a.values) < n {
		a.values = make([]Value, max(valueBlock, n))
	}
	r := Row{a.values[:n:n]}
	a.values = a.values[n:]
	return r
}

// Buffer returns an empty buffer to append about n bytes to. Keep takes what was appended.
func (a *Arena) Buffer(n int) []byte {
	if cap(a.bytes)-len(a.bytes) < n {
		a.bytes = make([]byte, 0, max(byteBlock, n))
	}
	return a.bytes[len(a.bytes):len(a.bytes):cap(a.bytes)]
}

// Keep makes b, which grew out of the last Buffer, permanent.
func (a *Arena) Keep(b []byte) {
	if free := a.bytes[len(a.bytes):cap(a.bytes)]; len(free) > 0 && cap(b) == len(free) {
		a.bytes = a.bytes[:len(a.bytes)+len(b)]
	}
}
