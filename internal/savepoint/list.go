package savepoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/weirstream/weir/checkpoint"
)

// Listed is a savepoint that [List] has found, or what is left of one.
type Listed struct {
	// Location is what other commands open it by.
	Location   string `json:"location"`
	ID         string `json:"id,omitempty"`
	Job        string `json:"job,omitempty"`
	Lineage    string `json:"lineage,omitempty"`
	Checkpoint int64  `json:"checkpoint,omitempty"`
	// Time is milliseconds since the Unix epoch.
	Time int64 `json:"time,omitempty"`
	// Files and Size, in bytes, are those that it lists, and its manifest.
	Files int   `json:"files"`
	Size  int64 `json:"size"`
	// RewrittenFrom is the ID of the savepoint that it was made of by a rewriting.
	RewrittenFrom string `json:"rewritten_from,omitempty"`
	// Whole says whether all of its files are there, by name and size; Lacks what is wrong if not.
	Whole bool   `json:"whole"`
	Lacks string `json:"lacks,omitempty"`
}

// List looks for savepoints in a directory or below a bucket's path, at any depth, newest first. What looks as if it were to
// become one and has no manifest is listed too, as not whole.
func List(ctx context.Context, location string) ([]Listed, error) {
	if err := checkpoint.CheckThere(location); err != nil {
		return nil, fmt.Errorf("savepoints in %w", err)
	}
	store, err := checkpoint.OpenStoreToRead(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("savepoints in %s: %w", location, err)
	}
	defer store.Close()
	files, err := store.List(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("savepoints in %s: %w", location, err)
	}
	folders := map[string][]checkpoint.Stored{}
	for _, f := range files {
		folder, name := path.Split(f.Name)
		folder = strings.TrimSuffix(folder, "/")
		folders[folder] = append(folders[folder], checkpoint.Stored{Name: name, Size: f.Size})
	}
	var out []Listed
	for folder, files := range folders {
		if !slices.ContainsFunc(files, func(f checkpoint.Stored) bool { return f.Name == checkpoint.ManifestName || ofSavepoint(f.Name) }) {
			continue
		}
		out = append(out, look(ctx, below{store, folder}, join(location, folder), files))
	}
	slices.SortFunc(out, func(a, b Listed) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Location, b.Location))
	})
	return out, nil
}

// join is a folder below a location: a path, or a URL whose options stay behind it.
func join(location, folder string) string {
	if folder == "" {
		return location
	}
	place, options, found := strings.Cut(location, "?")
	place = strings.TrimRight(place, "/") + "/" + folder
	if found {
		return place + "?" + options
	}
	return place
}

// look compares a manifest with the files that are beside it.
func look(ctx context.Context, store checkpoint.Store, location string, files []checkpoint.Stored) Listed {
	l := Listed{Location: location}
	m, err := checkpoint.ReadManifest(ctx, checkpoint.NewFiles(store, nil))
	if err != nil {
		for _, f := range files {
			l.Files++
			l.Size += f.Size
		}
		switch {
		case !errors.Is(err, fs.ErrNotExist):
			l.Lacks = err.Error()
		case slices.ContainsFunc(files, func(f checkpoint.Stored) bool { return f.Name == tombstone }):
			l.Lacks = "its deletion is not complete: delete it again"
		default:
			l.Lacks = "it has no " + checkpoint.ManifestName + ": it is being written, or was never completed"
		}
		return l
	}
	p := m.Pointer
	l.ID, l.Job, l.Lineage, l.Checkpoint, l.Time = m.ID, p.Job, p.Lineage, p.Checkpoint, p.Time
	if m.Rewritten != nil {
		l.RewrittenFrom = m.Rewritten.From
	}
	sizes := map[string]int64{}
	for _, f := range files {
		sizes[f.Name] = f.Size
	}
	l.Files, l.Size = 1, sizes[checkpoint.ManifestName]
	missing := 0
	for _, f := range p.AllFiles() {
		l.Files++
		l.Size += f.Size
		if size, ok := sizes[f.Name]; !ok || size != f.Size {
			missing++
		}
	}
	l.Whole = missing == 0
	if missing > 0 {
		l.Lacks = fmt.Sprintf("%d of its %d files not there or of another size", missing, l.Files)
	}
	return l
}

// ofSavepoint reports whether a file's name is one that a savepoint's files have: a hash and a kind.
func ofSavepoint(name string) bool {
	if name == tombstone {
		return true
	}
	hash, kind, ok := strings.Cut(name, ".")
	return ok && kind != "" && len(hash) == 2*len(checkpoint.Hash{}) && strings.Trim(hash, "0123456789abcdef") == ""
}
