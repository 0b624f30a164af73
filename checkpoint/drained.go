package checkpoint

import "fmt"

const drainedFinding = "the job was drained there: its windows and timers fired before their time, and would be wrong if it went on; "

// Drained is the refusal of a start that would go on from a drained checkpoint. It is told from [ResolvedEnded] only when the
// savepoints that were under way are finished: a refusal would leave them as they are.
func Drained(p *Pointer) error {
	return &RefusedError{What: fmt.Sprintf("checkpoint %d", p.Checkpoint), Findings: []string{
		drainedFinding + "begin empty (--fresh; with --offsets-from SAVEPOINT at its offsets), or go back (--from)",
	}}
}
