package probe

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/internal/doctor/txn"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
)

// checkPointer reads the last committed pointer and looks for what it lists. It does not wait for open transactions.
func (e *examination) checkPointer(ctx context.Context) []doctor.Finding {
	const name = "last checkpoint"
	c := e.home
	if c.client == nil {
		return nil
	}
	t := c.topics[c.own]
	if t == nil || t.Err != nil {
		return []doctor.Finding{doctor.Unknown(name, name, errors.New("the checkpoint topic cannot be looked at"))}
	}
	p := &e.last
	// The group first: what is committed meanwhile must not look as if the topic had lost it.
	p.Group, p.GroupErr = e.groupCheckpoint(ctx)
	p.Storage = e.config.Checkpoint.Storage
	if e.store != nil {
		p.Storage = e.store.String()
	}
	switch {
	case t.Missing:
		p.None = true
	default:
		blocks, _ := txn.Blocked(ctx, c.client, c.asked(c.own))
		p.Blocked = len(blocks) > 0
		e.lookAtPointer(ctx, p)
	}
	if kafka.IsAuthorization(p.Err) {
		return []doctor.Finding{doctor.Unknown(name, name, p.Err)} // the check of access says what to do
	}
	return doctor.Pointer(p, e.now().UnixMilli())
}

func (e *examination) groupCheckpoint(ctx context.Context) (int64, error) {
	offsets, err := kadm.NewClient(e.home.client).FetchOffsets(ctx, e.config.Checkpoint.GroupID(e.config.Job))
	if errors.Is(err, kerr.GroupIDNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	latest := int64(0)
	for _, o := range offsets.Sorted() {
		id, ok := sink.MarkedCheckpoint(o.Metadata)
		switch {
		case o.Err != nil:
			return 0, o.Err
		case o.At < 0:
			continue
		case o.Topic == e.home.own && o.Partition == 0:
			if id, err = strconv.ParseInt(o.Metadata, 10, 64); err != nil {
				return 0, err
			}
		case !ok:
			continue // somebody else's
		}
		latest = max(latest, id)
	}
	return latest, nil
}

// mostLooks bounds how often a pointer is read anew whose files do not seem to be there.
const mostLooks = 5

// lookAtPointer reads the last pointer and looks for what it lists. A job that runs deletes what its newest checkpoint does
// not need any more, so whatever is missing counts only if the pointer is the last one still.
func (e *examination) lookAtPointer(ctx context.Context, p *doctor.LastPointer) {
	log, err := sink.NewPointerLog(e.home.client, sink.LogConfig{Topic: e.home.own, Timeout: e.opts.Timeout})
	if err != nil {
		p.Err = err
		return
	}
	before := *p
	for range mostLooks {
		*p = before
		at := e.readPointer(ctx, log, p)
		if p.Err == nil && len(p.Missing)+len(p.Damaged)+len(p.Lost) == 0 {
			return
		}
		if now, err := log.List(ctx, 1); err != nil || len(now) == 0 || now[0].Offset == at {
			return
		}
	}
	if p.Err == nil {
		p.Missing, p.Damaged, p.Lost = nil, nil, nil
		p.FilesErr = errors.New("the job runs, and its checkpoints replace each other before their files are looked at")
	}
}

// readPointer takes the last pointer, and returns its offset.
func (e *examination) readPointer(ctx context.Context, log *sink.PointerLog, p *doctor.LastPointer) int64 {
	ptr, offset, err := e.newest(ctx, log)
	if err != nil {
		p.Err = err
		return offset
	}
	if ptr == nil {
		p.None = true
		return offset
	}
	e.pointer = ptr
	p.Checkpoint, p.Written, p.Host, p.Final, p.Deep = ptr.Checkpoint, ptr.Time, ptr.Host, ptr.Final, e.opts.Deep
	for _, s := range ptr.Unfinished {
		p.Unfinished = append(p.Unfinished, s.Directory)
	}
	e.lookForFiles(ctx, log, ptr, p)
	return offset
}

// newest reads the last pointer, nil if there is none.
func (e *examination) newest(ctx context.Context, log *sink.PointerLog) (*checkpoint.Pointer, int64, error) {
	logged, err := log.List(ctx, 1)
	if err != nil || len(logged) == 0 {
		return nil, -1, err
	}
	ptr, err := checkpoint.DecodePointer(logged[0].Value)
	if err == nil && ptr.File != nil {
		if e.store == nil {
			err = errors.New("the rest of the pointer is in the storage, which cannot be used")
		} else {
			ptr, err = checkpoint.LoadPointer(ctx, checkpoint.NewFiles(e.store, nil), logged[0].Value)
		}
	}
	return ptr, logged[0].Offset, err
}

// lookForFiles compares what the pointer lists with what is there.
func (e *examination) lookForFiles(ctx context.Context, log *sink.PointerLog, ptr *checkpoint.Pointer, p *doctor.LastPointer) {
	var files []checkpoint.File
	if ptr.Base != nil {
		files = append(files, ptr.Base.Files...)
	}
	if ptr.File != nil {
		files = append(files, *ptr.File)
	}
	var starts map[txn.Partition]txn.Listed
	for _, d := range ptr.Deltas {
		p.Bytes += d.Size
		switch {
		case d.File != nil:
			files = append(files, *d.File)
		case d.Offset >= 0:
			if starts == nil {
				starts = txn.Offsets(ctx, e.home.client, e.home.asked(e.home.own), txn.Earliest, false, map[string]error{})
			}
			if start, ok := starts[txn.Partition{Topic: e.home.own}]; ok && d.Offset < start.Offset {
				p.Lost = append(p.Lost, d.Offset)
			} else if e.opts.Deep {
				if err := verifyInline(ctx, log, d); err != nil {
					p.Damaged = append(p.Damaged, err.Error())
				}
			}
		}
	}
	slices.SortFunc(files, func(a, b checkpoint.File) int { return len(a.Name) - len(b.Name) })
	p.Files = len(files)
	for _, f := range files {
		p.Bytes += f.Size
	}
	if len(files) == 0 {
		return
	}
	if e.store == nil {
		p.FilesErr = errors.New("the storage cannot be used")
		return
	}
	listed, err := e.store.List(ctx, e.config.Job+"/")
	if err != nil {
		p.FilesErr = err
		return
	}
	p.Empty = len(listed) == 0
	sizes := map[string]int64{}
	for _, s := range listed {
		sizes[s.Name] = s.Size
	}
	verify := checkpoint.NewFiles(e.store, nil)
	for _, f := range files {
		size, ok := sizes[f.Name]
		switch {
		case !ok:
			p.Missing = append(p.Missing, f.Name)
		case size != f.Size:
			p.Damaged = append(p.Damaged, f.Name)
		case e.opts.Deep:
			if err := verify.Verify(ctx, f); err != nil {
				p.Damaged = append(p.Damaged, err.Error())
			}
		}
	}
}

func verifyInline(ctx context.Context, log *sink.PointerLog, d checkpoint.Delta) error {
	logged, err := log.At(ctx, d.Offset)
	if err != nil {
		return err
	}
	_, err = checkpoint.InlineDelta(logged.Value, d)
	return err
}
