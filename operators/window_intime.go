package operators

// Punctual is an operator that tells whether an event is certainly in time. For one that is not, it depends on how far
// the watermark has come whether it is dropped, or makes a window that has fired emit again. The windowed operators are.
type Punctual interface {
	// InTime reports whether no window that an event of the given time may fall into has fired at a watermark.
	InTime(timestamp, watermark int64) bool
}

// InTime implements [Punctual]: the first window to end that holds the time has not ended.
func (o *fixedWindows[In, Acc, Out]) InTime(ts, watermark int64) bool {
	start := o.windows.lastStart(ts)
	for next := subTime(start, o.windows.slide); next > ts-o.windows.size; next = subTime(start, o.windows.slide) {
		start = next
	}
	return start <= ts-o.windows.size || o.fireAt(o.end(start)) > watermark
}

// InTime implements [Punctual]: no session that the event may belong to has ended, not even one that ends just where it
// begins.
func (o *sessionWindows[In, Acc, Out]) InTime(ts, watermark int64) bool {
	return o.fireAt(ts) > watermark
}
