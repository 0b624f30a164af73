package savepoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/weirstream/weir/checkpoint"
)

// tombstone is the manifest of a savepoint that is being deleted: it says what is left to delete, and is deleted last.
const tombstone = "deleting.json"

// Deletion is what deleting a savepoint will do.
type Deletion struct {
	*Listed
	// Begun: an earlier deletion was interrupted, and is to be completed.
	Begun bool

	location string
	store    checkpoint.Store
	manifest *checkpoint.Manifest
	files    []string
}

// PlanDelete reads what a savepoint consists of. It refuses a place that is no savepoint, and one that holds files which are
// none of the savepoint's, by name. The caller closes the plan.
func PlanDelete(ctx context.Context, location string) (*Deletion, error) {
	if err := checkpoint.CheckThere(location); err != nil {
		return nil, fmt.Errorf("delete: savepoint %w", err)
	}
	store, err := checkpoint.OpenStore(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("savepoint %s: %w", location, err)
	}
	d := &Deletion{location: location, store: store}
	if err := d.plan(ctx); err != nil {
		_ = store.Close()
		return nil, err
	}
	return d, nil
}

// Close releases the store's connections.
func (d *Deletion) Close() error { return d.store.Close() }

func (d *Deletion) plan(ctx context.Context) error {
	m, err := checkpoint.ReadManifest(ctx, checkpoint.NewFiles(d.store, nil))
	if errors.Is(err, fs.ErrNotExist) {
		if buried, old := checkpoint.ReadManifest(ctx, checkpoint.NewFiles(buriedStore{d.store}, nil)); old == nil {
			m, err, d.Begun = buried, nil, true
		}
	}
	if err != nil {
		return err
	}
	d.manifest = m
	known := map[string]bool{checkpoint.ManifestName: true, tombstone: true}
	for _, f := range m.Pointer.AllFiles() {
		if badPlace(f.Name) {
			return fmt.Errorf("savepoint %s: its manifest lists %q, which is not in it", d.location, f.Name)
		}
		known[f.Name] = true
		d.files = append(d.files, f.Name)
	}
	listed, err := d.store.List(ctx, "")
	if err != nil {
		return fmt.Errorf("savepoint %s: %w", d.location, err)
	}
	var others []string
	for _, f := range listed {
		switch {
		case known[f.Name]:
		case strings.HasPrefix(path.Base(f.Name), ".tmp-"):
			d.files = append(d.files, f.Name) // of a write that was interrupted
		default:
			others = append(others, f.Name)
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("savepoint %s: it holds files that are not its own, so nothing was deleted: %s", d.location, few(others))
	}
	l := look(ctx, d.store, d.location, listed)
	l.ID, l.Job, l.Checkpoint, l.Time, l.Lineage = m.ID, m.Pointer.Job, m.Pointer.Checkpoint, m.Pointer.Time, m.Pointer.Lineage
	d.Listed = &l
	return nil
}

// badPlace reports that a file lies outside of its savepoint, or is no plain file of it.
func badPlace(name string) bool { return !fs.ValidPath(name) || strings.Contains(name, "/") }

// few lists at most five names.
func few(names []string) string {
	if len(names) > 5 {
		names = append(names[:5:5], fmt.Sprintf("%d more", len(names)-5))
	}
	return strings.Join(names, ", ")
}

// Do deletes the manifest first, then the files, so that at no moment there is a savepoint that is not whole. What it is about
// to delete is written down before, so that an interrupted deletion can be completed by another; on a full disk that cannot be
// written, and is done without. The empty directory goes too.
func (d *Deletion) Do(ctx context.Context) error {
	if !d.Begun {
		text, err := json.MarshalIndent(d.manifest, "", "  ")
		if err != nil {
			return err
		}
		if err := d.store.Put(ctx, tombstone, bytes.NewReader(text)); err != nil && ctx.Err() != nil {
			return err
		}
	}
	for _, name := range append(append([]string{checkpoint.ManifestName}, d.files...), tombstone) {
		if err := d.store.Delete(ctx, name); err != nil {
			return fmt.Errorf("savepoint %s: %w", d.location, err)
		}
	}
	if !checkpoint.IsURL(d.location) {
		_ = os.Remove(d.location) // if it is empty
	}
	return nil
}

// buriedStore has the tombstone as its manifest.
type buriedStore struct{ checkpoint.Store }

func (b buriedStore) Get(ctx context.Context, name string, w io.Writer) error {
	if name == checkpoint.ManifestName {
		name = tombstone
	}
	return b.Store.Get(ctx, name, w)
}
