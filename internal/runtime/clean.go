package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/sink"
)

// cleanEvery is how often records of the checkpoint topic are deleted: a request to the brokers each time.
const cleanEvery = 10 * time.Second

// listGarbage lists the job's files before the attempt's first commit; those of older attempts that no pointer lists are
// deleted after it.
func (a *attempt) listGarbage(ctx context.Context) ([]checkpoint.Stored, error) {
	return a.files.Store().List(ctx, fmt.Sprintf("%s/%d/", a.cfg.Job, a.shard))
}

// remember loads the pointers before this attempt's own that are still needed: those that are to be retained, and those
// of savepoints under way. One that cannot be read is left alone with whatever it needs: whole is false then, and files
// that no pointer seems to list are not garbage. If it is not damaged, it is unread: see committed.
func (a *attempt) remember(ctx context.Context, unfinished []checkpoint.Savepoint) (whole bool, err error) {
	older, err := a.log.List(ctx, a.cfg.Checkpoint.Retained)
	if err != nil {
		return false, err
	}
	whole = true
	for _, s := range unfinished {
		logged, err := a.log.At(ctx, s.Offset)
		if err != nil {
			whole = a.leaveAlone(s.Offset, err)
			continue
		}
		older = append(older, *logged)
	}
	for _, logged := range slices.Backward(older) {
		p, err := checkpoint.LoadPointer(ctx, a.files, logged.Value)
		if err != nil {
			whole = a.leaveAlone(logged.Offset, err)
			if p, err = checkpoint.DecodePointer(logged.Value); err != nil {
				continue
			}
		}
		a.known = append(a.known, checkpoint.Committed{Offset: logged.Offset, Pointer: p})
	}
	slices.SortFunc(a.known, func(x, y checkpoint.Committed) int { return int(x.Offset - y.Offset) })
	a.known = slices.CompactFunc(a.known, func(x, y checkpoint.Committed) bool { return x.Offset == y.Offset })
	return whole, nil
}

// leaveAlone notes that an older pointer cannot be read. It returns false: not every pointer is known.
func (a *attempt) leaveAlone(offset int64, err error) bool {
	a.logger.Warn("an older checkpoint cannot be read", "topic", a.log.Topic(), "offset", offset, "error", err)
	if !isDamage(err) {
		a.unread = append(a.unread, offset)
	}
	return false
}

// needsUnread reports whether a pointer that was not read is still needed: it is retained, or that of a savepoint under way.
func (a *attempt) needsUnread(keep []checkpoint.Committed, unfinished []checkpoint.Savepoint) bool {
	return slices.ContainsFunc(a.unread, func(offset int64) bool {
		return slices.ContainsFunc(keep, func(c checkpoint.Committed) bool { return c.Offset == offset }) ||
			slices.ContainsFunc(unfinished, func(s checkpoint.Savepoint) bool { return s.Offset == offset })
	})
}

// committed keeps the books after a commit: what of it is still needed, and what the cleaner may delete. While a pointer that
// was not read is needed, that of the checkpoint left behind included, only the attempt's own files are deleted: it cannot need those. The next attempt finds the others.
func (a *attempt) committed(p *checkpoint.Pointer) {
	a.known = append(a.known, checkpoint.Committed{Offset: a.lastOffset, Pointer: p})
	g := checkpoint.Retain(a.known, a.cfg.Checkpoint.Retained, p.Unfinished, a.left)
	a.known = g.Keep
	a.job.note(func(s *Status) { s.Checkpoint, s.CommittedAt = p.Checkpoint, p.Time })
	if !p.First {
		a.job.completed.Store(true)
	}
	files := g.Files
	unread := a.needsUnread(g.Keep, p.Unfinished)
	if unread {
		g.Below = 0
	}
	if unread || a.leftUnread {
		files = slices.DeleteFunc(files, func(name string) bool { return checkpoint.AttemptOf(name) != a.id })
	}
	if a.listed != nil {
		files = append(files, checkpoint.Orphans(a.listed, a.known, a.left, a.id)...)
		a.listed = nil
	}
	w := cleaning{files: files, below: g.Below, sources: p.Sources}
	select {
	case old := <-a.cleanings: // the cleaner is busy: it gets both at once
		w.files = append(old.files, w.files...)
	default:
	}
	a.cleanings <- w // has room: only this goroutine fills it
}

// cleaning is what may be deleted.
type cleaning struct {
	files []string
	below int64
	// sources are the positions that were committed, for groups on other clusters.
	sources []checkpoint.Source
}

// clean deletes what is no longer needed. An error only leaves garbage behind, which the next attempt finds.
func (a *attempt) clean(ctx context.Context) error {
	var below, deleted int64
	next := time.NewTicker(cleanEvery)
	defer next.Stop()
	last := time.Now() // of the commits
	for {
		select {
		case w := <-a.cleanings:
			last = time.Now()
			below = w.below
			a.commitElsewhere(ctx, w.sources)
			if errors.Is(context.Cause(ctx), errDone) { // meanwhile: that was the last checkpoint
				a.commitElsewhere(context.WithoutCancel(ctx), w.sources)
			}
			for _, name := range w.files {
				a.cfg.Fault.At(fault.Cleaning)
				if err := a.files.Store().Delete(ctx, name); err != nil && ctx.Err() == nil {
					a.logger.Warn("a file that is no longer needed could not be deleted", "file", name, "error", err)
				}
			}
		case <-next.C:
			if err := a.lookAround(ctx, time.Since(last)); err != nil {
				return err
			}
			if err := a.lookAtOutput(ctx); err != nil {
				return err
			}
			if below == deleted {
				continue
			}
			if err := a.log.DeleteBefore(ctx, below); err != nil {
				if ctx.Err() == nil {
					a.logger.Warn("old checkpoints could not be deleted", "topic", a.log.Topic(), "error", err)
				}
				continue
			}
			a.cfg.Fault.At(fault.PointersTrimmed)
			deleted = below
		case <-ctx.Done():
			select {
			case w := <-a.cleanings: // of the last checkpoint
				a.commitElsewhere(context.WithoutCancel(ctx), w.sources)
			default:
			}
			return context.Cause(ctx)
		}
	}
}

// lookAround lets a job that is idle notice that another process has taken over; one that works does when it commits.
func (a *attempt) lookAround(ctx context.Context, idle time.Duration) error {
	if idle < cleanEvery {
		return nil
	}
	taken, _, err := a.tx.Taken(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		a.logger.Warn("whether another process has taken over is not known", "error", err)
	case taken:
		return &sink.FencedError{Transaction: a.cfg.Checkpoint.Prefix + "." + a.cfg.Job, Err: kerr.ProducerFenced}
	}
	return nil
}

// commitElsewhere commits the offsets of sources on other clusters than the sinks', for people and their lag dashboards.
// The pointer holds the truth, so a failure is only logged (rule 18).
func (a *attempt) commitElsewhere(ctx context.Context, sources []checkpoint.Source) {
	for _, s := range sources {
		client := a.foreign[s.Name]
		if client == nil {
			continue
		}
		offsets := kadm.Offsets{}
		for _, sp := range s.Splits {
			offsets.Add(kadm.Offset{Topic: sp.Topic, Partition: sp.Partition, At: sp.Offset, LeaderEpoch: sp.LeaderEpoch})
		}
		bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := kadm.NewClient(client).CommitAllOffsets(bounded, a.cfg.Checkpoint.GroupID(a.cfg.Job), offsets)
		cancel()
		if err != nil && ctx.Err() == nil {
			a.logger.Warn("offsets on another cluster could not be committed", "operator", s.Name, "error", err)
		}
	}
}
