package runtime

import (
	"fmt"

	"github.com/weirstream/weir/checkpoint"
)

// tellAgain logs how much of what the last checkpoint had read is read once more by a lineage that begins elsewhere. Where that
// is an older checkpoint of the same history, the note of the decision has said it already. Without a lineage to leave, or if
// its offsets are not known, there is nothing to say.
func (a *attempt) tellAgain(kind checkpoint.ResolutionKind, began, last *checkpoint.Pointer) {
	switch kind {
	case checkpoint.ResolvedSavepoint, checkpoint.ResolvedFresh, checkpoint.ResolvedOffsets:
	default:
		return
	}
	if last == nil || kind != checkpoint.ResolvedFresh && began != nil && began.Lineage == last.Lineage {
		return
	}
	g := checkpoint.NewGoBack(last, a.last)
	switch {
	case g.Unknown:
		return
	case g.Records == 0:
		a.logger.Info(fmt.Sprintf("nothing that checkpoint %d had read is read again", last.Checkpoint))
	default:
		a.logger.Warn(fmt.Sprintf("up to %d input records that checkpoint %d had read are read again, and their results written a second time", g.Records, last.Checkpoint))
	}
}
