package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/sink"
)

// load completes a pointer with the rest from its file. If the rest is damaged, the error is a *checkpoint.DamagedError and
// the pointer is its head: enough to begin from something else.
func (a *attempt) load(ctx context.Context, logged *sink.LoggedPointer) (*checkpoint.Pointer, error) {
	if a.files == nil { // CheckSavepoint, which makes no directory
		head, err := checkpoint.DecodePointer(logged.Value)
		if err == nil && head.File != nil {
			err = fmt.Errorf("checkpoint %d: the rest of its pointer is in checkpoint.storage, and there is no directory %s", head.Checkpoint, a.cfg.Checkpoint.Storage)
		}
		return head, err
	}
	p, err := checkpoint.LoadPointer(ctx, a.files, logged.Value)
	if err == nil {
		return p, nil
	}
	err = fmt.Errorf("topic %s partition %d offset %d: %w", a.log.Topic(), a.shard, logged.Offset, err)
	head, bad := checkpoint.DecodePointer(logged.Value)
	if bad != nil || !isDamage(err) {
		return nil, err
	}
	return head, a.damaged(head.Checkpoint, err)
}

// isDamage reports that a checkpoint lacks something that does not come back.
func isDamage(err error) bool {
	return checkpoint.IsDamage(err) || errors.Is(err, sink.ErrNoRecord) || errors.Is(err, pebblestate.ErrCorrupt)
}

// damaged makes the error of a checkpoint that cannot be restored.
func (a *attempt) damaged(id int64, err error) error {
	return &checkpoint.DamagedError{Checkpoint: id, Err: err, Retained: a.cfg.Checkpoint.Retained}
}

// older lists the pointers from checkpoint id on, newest first, and a few before it.
func (a *attempt) older(ctx context.Context, last, id int64) ([]sink.LoggedPointer, error) {
	return a.log.List(ctx, int(max(0, last-id))+max(a.cfg.Checkpoint.Retained, 2)+1)
}

// earlier reads the pointer of an older checkpoint of the job, as if it were a savepoint in the job's own storage.
func (a *attempt) earlier(ctx context.Context, last *checkpoint.Pointer, id int64) (*checkpoint.Manifest, error) {
	refuse := func(format string, args ...any) (*checkpoint.Manifest, error) {
		return nil, &checkpoint.RefusedError{What: fmt.Sprint("checkpoint ", id), Findings: []string{fmt.Sprintf(format, args...)}}
	}
	if last == nil {
		return refuse("topic %s has no checkpoint at all", a.log.Topic())
	}
	if left := last.Left; left != nil && left.Checkpoint == id && a.files != nil {
		p, err := checkpoint.LoadLeft(ctx, a.files, left)
		if err == nil {
			a.savepointFiles = a.files
			return &checkpoint.Manifest{ID: checkpoint.FromCheckpoint(id).ID, Pointer: p}, nil
		}
		if !isDamage(err) {
			return nil, err
		}
		a.logger.Warn("the checkpoint that was left behind cannot be read from its file", "checkpoint", id, "error", err)
	}
	all, err := a.older(ctx, last.Checkpoint, id)
	if err != nil {
		return nil, err
	}
	oldest := last.Checkpoint
	for i := range all {
		head, err := checkpoint.DecodePointer(all[i].Value)
		if err != nil {
			return nil, fmt.Errorf("topic %s partition %d offset %d: %w", a.log.Topic(), a.shard, all[i].Offset, err)
		}
		oldest = min(oldest, head.Checkpoint)
		if head.Checkpoint != id {
			continue
		}
		p, err := a.load(ctx, &all[i])
		if err != nil {
			return nil, err
		}
		a.savepointFiles = a.files
		return &checkpoint.Manifest{ID: checkpoint.FromCheckpoint(id).ID, Pointer: p}, nil
	}
	return refuse("topic %s has no such checkpoint: it has %d to %d, and checkpoint.retained, which is %d, says how many are kept whole",
		a.log.Topic(), oldest, last.Checkpoint, a.cfg.Checkpoint.Retained)
}

// offerTimeout bounds the search for a checkpoint that is whole.
const offerTimeout = time.Minute

// wrongStorage refuses a start whose files are all somewhere else. To go back to an older checkpoint, one without files, would
// be bad advice: nothing is damaged.
func (a *attempt) wrongStorage(id int64) error {
	finding := fmt.Sprintf("none of its files is in %s, which has no file of the job at all: is checkpoint.storage what it was?", a.files.Store())
	if storage := a.cfg.Checkpoint.Storage; !checkpoint.IsURL(storage) && !filepath.IsAbs(storage) {
		finding += fmt.Sprintf(" a directory that is not absolute (%s) is below the working directory", storage)
	}
	return &checkpoint.RefusedError{What: fmt.Sprint("checkpoint ", id), Findings: []string{finding}}
}

// offer adds to the error of a damaged checkpoint which one before it is whole, and what going back to it repeats. Nothing
// is begun from it: that is the user's decision. Where nothing of the job is in the storage, it says that instead.
func (a *attempt) offer(ctx context.Context, err error) error {
	var d *checkpoint.DamagedError
	if !errors.As(err, &d) || d.Offer != nil || a.log == nil || a.files == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, offerTimeout)
	defer cancel()
	if file := (*checkpoint.FileError)(nil); errors.As(err, &file) && errors.Is(err, fs.ErrNotExist) && a.elsewhere(ctx) {
		return a.wrongStorage(d.Checkpoint)
	}
	return a.findWhole(ctx, d, err)
}

// findWhole fills the offer in. If the log says now that another checkpoint is the last than the recovery took for it, it
// offers nothing: see contradicted.
func (a *attempt) findWhole(ctx context.Context, d *checkpoint.DamagedError, err error) error {
	newest, listErr := a.log.List(ctx, 1)
	if listErr != nil || len(newest) == 0 {
		return err
	}
	last, loadErr := a.load(ctx, &newest[0])
	if last == nil || loadErr != nil && !isDamage(loadErr) {
		return err
	}
	if other := a.contradicted(ctx, last, err); other != nil {
		return other
	}
	if last.Checkpoint < d.Checkpoint {
		return err // it is none of this topic's
	}
	all, listErr := a.older(ctx, last.Checkpoint, d.Checkpoint)
	if listErr != nil {
		return err
	}
	whole := map[string]error{}
	for i := range all {
		head, err := checkpoint.DecodePointer(all[i].Value)
		if err != nil || head.Checkpoint >= d.Checkpoint || head.Lineage != last.Lineage {
			continue
		}
		p, err := a.load(ctx, &all[i])
		if err != nil || a.verify(ctx, p, whole) != nil {
			continue
		}
		if last.File != nil && last.Sources == nil {
			a.groupSources(ctx, last, p)
		}
		d.Offer = checkpoint.NewGoBack(last, p)
		break
	}
	return err
}

// verify reads everything that a checkpoint needs. What is known of files that several checkpoints share is kept in seen.
func (a *attempt) verify(ctx context.Context, p *checkpoint.Pointer, seen map[string]error) error {
	for _, f := range p.AllFiles() {
		err, known := seen[f.Name]
		if !known {
			err = a.files.Verify(ctx, f)
			seen[f.Name] = err
		}
		if err != nil {
			return err
		}
	}
	for _, d := range p.Deltas {
		if d.File == nil {
			if _, err := a.readDelta(ctx, d, a.files); err != nil {
				return err
			}
		}
	}
	return nil
}

// groupSources completes the head of the last pointer by the offsets that its transaction committed to the group (rule 11):
// they are only told to the user here. Sources on other clusters are left out.
func (a *attempt) groupSources(ctx context.Context, last, like *checkpoint.Pointer) {
	committed, err := kadm.NewClient(a.client).FetchOffsets(ctx, a.cfg.Checkpoint.GroupID(a.cfg.Job))
	if err != nil {
		return
	}
	for _, src := range like.Sources {
		out := checkpoint.Source{Name: src.Name}
		for _, s := range src.Splits {
			if at, ok := committed.Lookup(s.Topic, s.Partition); ok && at.At >= 0 {
				s.Offset = at.At
				out.Splits = append(out.Splits, s)
			}
		}
		last.Sources = append(last.Sources, out)
	}
}
