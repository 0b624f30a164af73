package operators

// KeyWindowCount is a result of [WindowCount]: the events of Key in the window from Start (included) to End (not
// included), in milliseconds since the Unix epoch.
type KeyWindowCount struct {
	Key               string
	Start, End, Count int64
}

// WindowCount counts the events of each key and window; it emits as [WindowAggregate] does.
func WindowCount[T any](windows Assigner, opts WindowOptions[T]) Spec[T, KeyWindowCount] {
	return windowSpec("window_count", windows, Aggregator[T, int64, KeyWindowCount]{
		Add:   func(n int64, _ T) (int64, error) { return n + 1, nil },
		Merge: func(a, b int64) (int64, error) { return a + b, nil },
		Result: func(p Pane, n int64) (KeyWindowCount, error) {
			return KeyWindowCount{Key: p.Key, Start: p.Start, End: p.End, Count: n}, nil
		},
	}, opts)
}
