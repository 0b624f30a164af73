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

const (
	// compactAfter is how many times the size of what would remain the deltas have before all of them are merged. What is
	// written in addition is then a third of what changed at most.
	compactAfter = 4
	// leastCompact is what a recovery reads in no time: 8 MiB of deltas.
	leastCompact = 8 << 20
)

// DecideMerge says what to do with the deltas since the base, given their sizes in bytes, oldest first and the newest
// included, and the size that the state has in them: live is at least what the last value of each key takes.
//
// A small state of which every key changes all the time is never written to a base: all its deltas become one, again and
// again, before a recovery has much to read. The first delta is what the last time left, deletions too: it may be more
// than the state.
//
// Merging is tiered: of too many deltas the newest ones are merged, and older ones with them as long as each is not larger
// than what is gathered already. So the list stays short and a byte is rewritten a logarithmic number of times before a
// base (5 times for 60 MiB in deltas of 1 KiB, without a key in common), not once for every few checkpoints.
func DecideMerge(sizes []int64, live int64, baseAfter Bytes) Merge {
	var total int64
	for _, s := range sizes {
		total += s
	}
	switch {
	case len(sizes) > 1 && total >= max(compactAfter*max(live, sizes[0]), leastCompact):
		return Merge{Kind: MergeDeltas}
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
