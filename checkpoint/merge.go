package checkpoint

// MergeKind says what happens to the deltas besides the new one.
type MergeKind int

const (
	// MergeNothing: the new delta is added to the list.
	MergeNothing MergeKind = iota
	// MergeDeltas: the deltas from index From on become one, with the last value per key.
	MergeDeltas
	// MergeBase: everything is written to a new base.
	MergeBase
)

// Merge is the decision of [DecideMerge].
type Merge struct {
	Kind MergeKind
	From int
}

// maxDeltas is how many deltas a pointer lists before some are merged. Each costs about 100 bytes in every pointer and a
// read at recovery.
const maxDeltas = 32

// DecideMerge says what to do with the deltas since the base, given their sizes in bytes, oldest first and the newest
// included.
//
// Merging is tiered: of too many deltas the newest ones are merged, and older ones with them as long as each is not larger
// than what is gathered already. So the list stays short and a byte is rewritten a logarithmic number of times before a
// base (5 times for 60 MiB in deltas of 1 KiB, without a key in common), not once for every few checkpoints.
func DecideMerge(sizes []int64, baseAfter Bytes) Merge {
	var total int64
	for _, s := range sizes {
		total += s
	}
	switch {
	case total >= int64(baseAfter):
		return Merge{Kind: MergeBase}
	case len(sizes) <= maxDeltas:
		return Merge{Kind: MergeNothing, From: len(sizes)}
	}
	from := len(sizes) - maxDeltas/2
	gathered := int64(0)
	for _, s := range sizes[from:] {
		gathered += s
	}
	for from > 0 && sizes[from-1] <= gathered {
		from--
		gathered += sizes[from]
	}
	return Merge{Kind: MergeDeltas, From: from}
}
