package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
)

func init() { openers["mem"] = openMemory }

// memory is a Store that ends with the process, for tests. Each one that is opened begins empty.
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
}

func openMemory(_ context.Context, u *url.URL) (Store, error) {
	if u.Host != "" || u.Path != "" {
		return nil, fmt.Errorf("a store in memory has no name: want mem://")
	}
	return &memory{files: map[string][]byte{}}, nil
}

func (m *memory) String() string { return "mem://" }
func (m *memory) Close() error   { return nil }

func (m *memory) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	if err := badName(name); err != nil {
		return err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	b, err := io.ReadAll(contextReader{ctx, content})
	if err != nil {
		return fmt.Errorf("writing mem://%s: %w", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.files[name]; there {
		return fmt.Errorf("writing mem://%s: %w", name, fs.ErrExist)
	}
	m.files[name] = b
	return nil
}

func (m *memory) Get(ctx context.Context, name string, w io.Writer) error {
	m.mu.Lock()
	b, there := m.files[name]
	m.mu.Unlock()
	err := fs.ErrNotExist
	if there {
		_, err = io.Copy(w, contextReader{ctx, bytes.NewReader(b)})
	}
	if err != nil {
		return fmt.Errorf("reading mem://%s: %w", name, err)
	}
	return nil
}

func (m *memory) Delete(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}

func (m *memory) List(_ context.Context, prefix string) ([]Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Stored
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if strings.HasPrefix(name, prefix) {
			out = append(out, Stored{Name: name, Size: int64(len(m.files[name]))})
		}
	}
	return out, nil
}

func (m *memory) Exists(_ context.Context, name string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, there := m.files[name]
	return there, nil
}
