package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/doctor/txn"
	"github.com/weirstream/weir/sink"
)

// Listed is a checkpoint of which the topic has the record, or which was left behind and has its pointer in a file.
type Listed struct {
	*checkpoint.Pointer
	// Restorable says whether all that it needs is there, by name and size; false if that is not known.
	Restorable bool `json:"restorable"`
	// Lacks says what is not there, or why it is not known; empty if it is restorable.
	Lacks string `json:"lacks,omitempty"`
	// Left: the lineage of the newest one has left it behind, and it stays until another lineage begins.
	Left bool `json:"left_behind,omitempty"`
}

// errNoStorage is why files are not looked for.
var errNoStorage = errors.New("where its files are is not known: name the job's file")

// Restorable looks for what each pointer needs. storage is the job's checkpoint.storage, "" if it is not known; a directory
// that is not there is not made. The checkpoint topic's beginning is asked for after the pointers were read and the storage is
// listed then, so what a job that runs has deleted meanwhile is said to be gone.
func Restorable(ctx context.Context, cl *kgo.Client, topic, job, storage string, logged []sink.LoggedPointer) ([]Listed, error) {
	at := txn.Partition{Topic: topic}
	errs := map[string]error{}
	start := txn.Offsets(ctx, cl, map[string][]int32{topic: {0}}, txn.Earliest, false, errs)[at].Offset
	if err := errs[topic]; err != nil {
		return nil, err
	}
	store, sizes, storageErr := listed(ctx, storage, job)
	if store != nil {
		defer store.Close()
	}
	var all []Listed
	for _, l := range logged {
		head, err := checkpoint.DecodePointer(l.Value)
		if err != nil {
			return nil, fmt.Errorf("topic %s: offset %d: %w", topic, l.Offset, err)
		}
		out := Listed{Pointer: head}
		if head.File != nil && store != nil {
			if whole, err := checkpoint.LoadPointer(ctx, checkpoint.NewFiles(store, nil), l.Value); err == nil {
				out.Pointer = whole
			} // else the file is missing or damaged, which is said below
		}
		out.Lacks = lacks(out.Pointer, start, sizes, storageErr)
		out.Restorable = out.Lacks == ""
		all = append(all, out)
	}
	if len(all) > 0 && all[0].Pointer.Left != nil {
		all = withLeft(ctx, all, store, sizes, storageErr)
	}
	return all, nil
}

// withLeft adds the checkpoint that was left behind, in the place of its record if that is there still.
func withLeft(ctx context.Context, all []Listed, store checkpoint.Store, sizes map[string]int64, storageErr error) []Listed {
	left := all[0].Pointer.Left
	out := Listed{Pointer: &checkpoint.Pointer{Job: all[0].Job, Checkpoint: left.Checkpoint, File: &left.File}, Left: true}
	i := slices.IndexFunc(all, func(l Listed) bool { return l.Checkpoint == left.Checkpoint })
	if i >= 0 {
		out.Pointer = all[i].Pointer
	}
	var err error
	if store != nil {
		var p *checkpoint.Pointer
		if p, err = checkpoint.LoadLeft(ctx, checkpoint.NewFiles(store, nil), left); err == nil {
			out.Pointer = p
		}
	}
	switch {
	case i >= 0 && checkpoint.IsGone(err):
		return all // it was given up, or is lost: it stays no longer
	case i >= 0 && (store == nil || err != nil):
		out.Restorable, out.Lacks = all[i].Restorable, all[i].Lacks // by its record
	case store != nil && err == nil || storageErr != nil:
		out.Lacks = lacks(out.Pointer, 0, sizes, storageErr)
		out.Restorable = out.Lacks == ""
	default:
		out.Lacks = "its pointer is not there"
	}
	if i < 0 {
		return append(all, out)
	}
	all[i] = out
	return all
}

// listed opens the storage and lists the job's files with their sizes.
func listed(ctx context.Context, storage, job string) (checkpoint.Store, map[string]int64, error) {
	sizes := map[string]int64{}
	if storage == "" {
		return nil, sizes, errNoStorage
	}
	store, err := checkpoint.OpenStoreToRead(ctx, storage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, sizes, nil // nothing is there
	}
	if err != nil {
		return nil, sizes, err
	}
	files, err := store.List(ctx, job+"/")
	for _, f := range files {
		sizes[f.Name] = f.Size
	}
	return store, sizes, err
}

// lacks says what of a checkpoint is not there.
func lacks(p *checkpoint.Pointer, start int64, sizes map[string]int64, storageErr error) string {
	for _, d := range p.Deltas {
		if d.File == nil && d.Offset >= 0 && d.Offset < start {
			return "changes that it needs are deleted from the topic"
		}
	}
	files := p.AllFiles()
	missing := 0
	for _, f := range files {
		if size, ok := sizes[f.Name]; !ok || size != f.Size {
			missing++
		}
	}
	switch {
	case len(files) == 0 || missing == 0:
		return ""
	case storageErr != nil:
		return storageErr.Error()
	}
	return fmt.Sprintf("%d of its %s not there", missing, plural(len(files)))
}

func plural(files int) string {
	if files == 1 {
		return "1 file is"
	}
	return fmt.Sprintf("%d files are", files)
}
