package checkpoint

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// describe is a request as the user gave it.
func describe(r Request) string {
	from := "this savepoint"
	if strings.HasPrefix(r.ID, FromCheckpointPrefix) {
		from = r.ID
	}
	switch r.Kind {
	case RequestFrom:
		return "--from " + from
	case RequestOffsets:
		return "--offsets-from " + from
	}
	return "--fresh"
}

// place says where a new lineage begins, and what it repeats or leaves behind.
func (s Start) place(what string) string {
	if !strings.HasPrefix(s.Request.ID, FromCheckpointPrefix) {
		what += fmt.Sprintf(" (its checkpoint %d, %s)", s.Savepoint.Checkpoint, s.age(s.Savepoint))
	}
	switch last := s.Last; {
	case last == nil:
		return what
	case s.Savepoint.Checkpoint <= last.Checkpoint && (last.Lineage == s.Savepoint.Lineage || strings.HasPrefix(s.Request.ID, FromCheckpointPrefix)):
		return what + ": it " + NewGoBack(last, s.Savepoint).repeats() + fmt.Sprintf("; checkpoint %d is left behind", last.Checkpoint) + s.wayBack()
	}
	return what + s.leaves()
}

// leaves says what a new lineage leaves behind, and how to come back to it.
func (s Start) leaves() string {
	last := s.Last
	switch {
	case last == nil && s.Group == 0:
		return ": there is no checkpoint to leave behind"
	case last == nil:
		return ""
	}
	size := ""
	if last.File == nil || last.Sources != nil { // else it is the head only
		size = ", state " + humanize.IBytes(uint64(last.StateBytes()))
	}
	return fmt.Sprintf("; leaves behind checkpoint %d of lineage %s (%s%s)", last.Checkpoint, shortUUID(last.Lineage), s.age(last), size) + s.wayBack()
}

// wayBack says what becomes of the checkpoint that a new lineage leaves behind.
func (s Start) wayBack() string {
	switch last := s.Last; {
	case s.Damage != nil:
		return ", which is damaged and does not stay"
	case last.Drained:
		return fmt.Sprintf(": it stays until another lineage begins; --fresh --offsets-from checkpoint:%d begins with its offsets", last.Checkpoint)
	case last.Final:
		return ": it is the end of the input, which nothing goes on from, and does not stay"
	default:
		return fmt.Sprintf(": it stays until another lineage begins; --from checkpoint:%d goes back to it", last.Checkpoint)
	}
}

// StateBytes is the size of the state that a pointer lists, in bytes.
func (p *Pointer) StateBytes() (n int64) {
	if p.Base != nil {
		for _, f := range p.Base.Files {
			n += f.Size
		}
	}
	for _, d := range p.Deltas {
		n += d.Size
	}
	return n
}

// age is how old a checkpoint is.
func (s Start) age(p *Pointer) string {
	switch d := time.Duration(s.Now-p.Time) * time.Millisecond; {
	case s.Now < p.Time:
		return "from a clock that is ahead"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s old", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min old", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h old", d/time.Hour)
	default:
		return fmt.Sprintf("%d days old", d/(24*time.Hour))
	}
}

// shortUUID is the first block of a UUID.
func shortUUID(uuid string) string {
	if len(uuid) == 36 {
		return uuid[:8]
	}
	return uuid
}
