package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// FileError is a file of a checkpoint or savepoint that cannot be used. Its message names the file and the store.
type FileError struct {
	Name string
	Err  error
}

func (e *FileError) Error() string { return e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// IsDamage reports whether an error says that a file is not there, is not what was written, or cannot be read by its own
// fault: trying again is of no use, another checkpoint may be. A store that does not answer is no damage.
func IsDamage(err error) bool {
	var file *FileError
	if asStoreError(err) != nil {
		return false // keys that are refused say nothing of the file
	}
	return errors.Is(err, ErrCorrupt) || errors.As(err, &file) && (permanent(file) || errors.Is(file, syscall.EIO))
}

// DamagedError is a checkpoint that cannot be restored, since something of it is damaged. Nothing else was restored in its
// place: which one is to be, the user says.
type DamagedError struct {
	Checkpoint int64
	// Err names the file, or the record of the checkpoint topic, and what is wrong with it.
	Err error
	// Offer is the newest checkpoint before it that is whole, nil if there is none.
	Offer *GoBack
	// Retained is how many checkpoints the job keeps.
	Retained int
}

func (e *DamagedError) Unwrap() error { return e.Err }

func (e *DamagedError) Error() string {
	switch {
	case e.Offer != nil:
		return fmt.Sprintf("%v; checkpoint %d is whole: %s", e.Err, e.Offer.To, e.Offer)
	case e.Retained == 1:
		return fmt.Sprintf("%v; no checkpoint before it is kept (checkpoint.retained is 1): start from a savepoint (--from) or empty (--fresh)", e.Err)
	}
	return fmt.Sprintf("%v; no checkpoint before it is whole: start from a savepoint (--from) or empty (--fresh)", e.Err)
}

// GoBack is what a start from an older checkpoint does again.
type GoBack struct {
	// From is the last checkpoint, To the one to go back to.
	From, To int64
	// OtherLineage: the two belong to different histories, so that what lies between them is not simply repeated.
	OtherLineage bool
	// Unknown: the offsets of the last checkpoint are not known, since its rest is damaged.
	Unknown bool
	Splits  []Reread
	// Records is the sum over Splits: at most so many, since not every offset needs to be a record.
	Records int64
}

// Reread is the part of a split that is read again.
type Reread struct {
	Source, Topic string
	Partition     int32
	// Offset is the first that is read again, End the one after the last.
	Offset, End int64
}

// NewGoBack compares the last checkpoint with an older one.
func NewGoBack(last, to *Pointer) *GoBack {
	g := &GoBack{
		From: last.Checkpoint, To: to.Checkpoint, OtherLineage: last.Lineage != to.Lineage,
		Unknown: last.File != nil && last.Sources == nil,
	}
	for _, src := range last.Sources {
		for _, s := range src.Splits {
			r := Reread{Source: src.Name, Topic: s.Topic, Partition: s.Partition, End: s.Offset}
			if was := splitOf(to, src.Name, s); was != nil {
				r.Offset = was.Offset
			} // else it was found later, and is read from its beginning
			if r.Offset < r.End {
				g.Splits = append(g.Splits, r)
				g.Records += r.End - r.Offset
			}
		}
	}
	return g
}

func splitOf(p *Pointer, source string, want Split) *Split {
	for _, src := range p.Sources {
		for i, s := range src.Splits {
			if src.Name == source && s.Topic == want.Topic && s.Partition == want.Partition {
				return &src.Splits[i]
			}
		}
	}
	return nil
}

// splitsTold is how many splits a message lists.
const splitsTold = 8

// String is how to go back, and what it repeats.
func (g *GoBack) String() string { return fmt.Sprintf("--from checkpoint:%d %s", g.To, g.repeats()) }

func (g *GoBack) repeats() string {
	checkpoints := "1 checkpoint"
	if n := g.From - g.To; n != 1 {
		checkpoints = fmt.Sprintf("%d checkpoints", n)
	}
	head := "goes back by " + checkpoints
	switch {
	case g.OtherLineage:
		return head + " and to another lineage: its state and its offsets are those from before that lineage was left"
	case g.Unknown:
		return head + ": what was read since is read again and its results written a second time"
	case g.Records == 0:
		return head + ", and no input is read again"
	}
	var splits []string
	for i, s := range g.Splits {
		if i == splitsTold {
			splits = append(splits, fmt.Sprintf("%d more", len(g.Splits)-i))
			break
		}
		splits = append(splits, fmt.Sprintf("%s partition %d offsets %d to %d", s.Topic, s.Partition, s.Offset, s.End-1))
	}
	return fmt.Sprintf("%s: up to %d input records are read again and their results written a second time (%s)", head, g.Records, strings.Join(splits, ", "))
}

// permanent reports whether trying again is of no use.
func permanent(err error) bool {
	if s := asStoreError(err); s != nil {
		return s.Permanent
	}
	for _, kind := range []error{
		fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, ErrCorrupt, syscall.EROFS, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
