package savepoint

import (
	"context"
	"io"
	"path"
	"strings"

	"github.com/weirstream/weir/checkpoint"
)

// below is a folder of a store as a store of its own. Closing it does nothing: the store belongs to whoever opened it.
type below struct {
	checkpoint.Store
	folder string // "" is the store itself
}

func (b below) name(name string) string { return path.Join(b.folder, name) }

func (b below) String() string {
	if b.folder == "" {
		return b.Store.String()
	}
	return strings.TrimRight(b.Store.String(), "/") + "/" + b.folder
}

func (b below) Close() error { return nil }

func (b below) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	return b.Store.Put(ctx, b.name(name), content)
}

func (b below) Get(ctx context.Context, name string, w io.Writer) error {
	return b.Store.Get(ctx, b.name(name), w)
}

func (b below) Delete(ctx context.Context, name string) error {
	return b.Store.Delete(ctx, b.name(name))
}

func (b below) Exists(ctx context.Context, name string) (bool, error) {
	return b.Store.Exists(ctx, b.name(name))
}

func (b below) List(ctx context.Context, prefix string) ([]checkpoint.Stored, error) {
	if b.folder == "" {
		return b.Store.List(ctx, prefix)
	}
	listed, err := b.Store.List(ctx, b.folder+"/"+prefix)
	for i := range listed {
		listed[i].Name = strings.TrimPrefix(listed[i].Name, b.folder+"/")
	}
	return listed, err
}
