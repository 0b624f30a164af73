package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/doctor"
)

// directory is the path of a storage that is a directory; ok is false for a bucket.
func directory(storage string) (path string, ok bool) {
	if scheme, _, isURL := strings.Cut(storage, "://"); isURL {
		u, err := url.Parse(storage)
		if scheme != "file" || err != nil {
			return "", false
		}
		return filepath.FromSlash(u.Path), true
	}
	path, err := filepath.Abs(storage)
	return path, err == nil
}

// existing is the nearest directory above a path, or the path itself, that is there.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

// checkStorage tries what checkpoints do to the storage, with one small file. A directory that is not there is not made.
func (e *examination) checkStorage(ctx context.Context) []doctor.Finding {
	o := &e.config.Checkpoint
	s := doctor.StorageProbe{Where: o.Storage}
	if dir, ok := directory(o.Storage); ok {
		s.Where = dir
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			s.Missing, s.Parent = true, existing(dir)
			s.ParentErr = writable(s.Parent)
			return doctor.Storage(&s, o.Timeout)
		}
	} else if scheme, rest, ok := strings.Cut(o.Storage, "://"); ok {
		rest, _, _ = strings.Cut(rest, "?")
		s.Where = scheme + "://" + rest
	}
	began := time.Now()
	store, err := checkpoint.OpenStore(ctx, o.Storage)
	if err != nil {
		s.Step, s.Err = "opening it", err
		return doctor.Storage(&s, o.Timeout)
	}
	e.store, s.Where = store, store.String()
	s.Step, s.Replaces, s.Err = try(ctx, store)
	s.Took = time.Since(began)
	return doctor.Storage(&s, o.Timeout)
}

// writable makes a file in a directory and removes it.
func writable(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	f, err := os.CreateTemp(dir, ".weir-doctor-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// try writes, lists, reads and deletes a file, and returns the step that failed, or that a second file of its name took its
// place. The file is deleted whatever happens.
func try(ctx context.Context, store checkpoint.Store) (step string, replaces bool, err error) {
	name := "weir-doctor-" + uuid.NewString()
	content := []byte("processor doctor wrote this file and should have removed it; it may be deleted\n")
	if err := store.Put(ctx, name, bytes.NewReader(content)); err != nil {
		return "writing", false, errors.Join(err, remove(ctx, store, name))
	}
	again := store.Put(ctx, name, bytes.NewReader(content))
	if again != nil && !errors.Is(again, fs.ErrExist) {
		return "writing", false, errors.Join(again, remove(ctx, store, name))
	}
	listed, err := store.List(ctx, name)
	if err == nil && !slices.Contains(listed, checkpoint.Stored{Name: name, Size: int64(len(content))}) {
		err = fmt.Errorf("%s is not listed after it was written", name)
	}
	if err != nil {
		return "listing", false, errors.Join(err, remove(ctx, store, name))
	}
	var got bytes.Buffer
	err = store.Get(ctx, name, &got)
	if err == nil && !bytes.Equal(got.Bytes(), content) {
		err = fmt.Errorf("%s reads back as something else", name)
	}
	if err != nil {
		return "reading", false, errors.Join(err, remove(ctx, store, name))
	}
	if err := remove(ctx, store, name); err != nil {
		return "deleting", false, err
	}
	if there, err := store.Exists(ctx, name); err != nil || there {
		return "deleting", false, errors.Join(err, fmt.Errorf("%s is still there", name))
	}
	return "", again == nil, nil
}

// remove deletes the file, also if the check's time is over.
func remove(ctx context.Context, store checkpoint.Store, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return store.Delete(ctx, name)
}

// checkDisks judges the disks of the storage, if it is a directory, and of the local directory.
func (e *examination) checkDisks(context.Context) []doctor.Finding {
	o := &e.config.Checkpoint
	var findings []doctor.Finding
	look := func(what, path string) {
		s := doctor.Space{What: what, Path: path}
		usage, err := vfs.Default.GetDiskUsage(existing(path))
		s.Free, s.Total, s.Err = usage.AvailBytes, usage.TotalBytes, err
		findings = append(findings, doctor.Disk(s, e.last.Bytes, o)...)
	}
	if dir, ok := directory(o.Storage); ok {
		look("checkpoint.storage", dir)
	}
	look("checkpoint.local_dir", o.LocalDir)
	if parent := existing(o.LocalDir); parent != "" {
		if err := writable(parent); err != nil {
			findings = append(findings, doctor.Finding{Severity: doctor.Error, Check: "disk", Subject: "checkpoint.local_dir " + o.LocalDir, Text: err.Error(),
				Remedy: "give the directory to the user that runs the job, or set checkpoint.local_dir"})
		}
	}
	return findings
}
