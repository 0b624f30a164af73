package operators

// WindowReduce combines the values of each key and window into one with fn, which obeys what [Reduce] says; it emits as
// [WindowAggregate] does. For session windows fn must not care how values are grouped: a, b, c may come as fn(a, fn(b, c)).
func WindowReduce[T any](windows Assigner, fn func(a, b T) T, opts WindowOptions[T], codec ...Codec[T]) Spec[T, T] {
	agg := Aggregator[T, T, T]{
		first:  func(v T) (T, error) { return v, nil },
		Result: func(_ Pane, v T) (T, error) { return v, nil },
		Codec:  firstCodec(codec),
	}
	if fn != nil {
		agg.Add = func(a, b T) (T, error) { return fn(a, b), nil }
		agg.Merge = agg.Add
	}
	spec := windowSpec("window_reduce", windows, agg, opts)
	if fn == nil {
		spec.Err = needFunc("window_reduce", true)
	}
	return spec
}
