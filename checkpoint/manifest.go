package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
)

// ManifestName is the name of the manifest in a savepoint's directory. It is written last: a directory without one is no
// savepoint (rule 13).
const ManifestName = "manifest.json"

// Manifest is what a savepoint consists of (docs/formats/manifest.md). The names of its files are relative to the
// savepoint's directory, which holds all of them: the directory can be copied and moved.
type Manifest struct {
	Format int `json:"format"`
	// ID names the savepoint: "<lineage>-<checkpoint>".
	ID string `json:"id"`
	// Hash is the SHA-256 of the pointer's JSON without white space between its tokens.
	Hash Hash `json:"hash"`
	// Rewritten says what it was made of, if [Rewrite] made it.
	Rewritten *Rewritten      `json:"rewritten,omitempty"`
	Raw       json.RawMessage `json:"pointer"`
	Pointer   *Pointer        `json:"-"`
}

// Rewritten is where a savepoint comes from that was made of another one.
type Rewritten struct {
	// From is the other one's ID.
	From string `json:"from"`
	// Edits are those of [Edits.List].
	Edits []string `json:"edits"`
}

// SavepointID is the ID of a savepoint made of a pointer.
func SavepointID(p *Pointer) string { return fmt.Sprintf("%s-%d", p.Lineage, p.Checkpoint) }

// NewManifest returns the manifest of a pointer whose deltas and base are all in files relative to the directory.
func NewManifest(p *Pointer) (*Manifest, error) {
	for _, d := range p.Deltas {
		if d.File == nil {
			return nil, fmt.Errorf("savepoint %s: the delta of checkpoint %d is not in a file", SavepointID(p), d.Checkpoint)
		}
	}
	p.Format = Format
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("savepoint %s: %w", SavepointID(p), err)
	}
	return &Manifest{Format: Format, ID: SavepointID(p), Hash: sha256.Sum256(raw), Raw: raw, Pointer: p}, nil
}

// WriteManifest writes the manifest of a savepoint whose files are all there. If there is one with the same content
// already, that is fine; another one is an error.
func WriteManifest(ctx context.Context, to *Files, m *Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("savepoint %s: %w", m.ID, err)
	}
	_, err = to.UploadBytes(ctx, func(Hash) string { return ManifestName }, append(text, '\n'))
	if errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("savepoint %s: there is another savepoint in %s already", m.ID, to.store)
	}
	return err
}

// ReadManifest reads the manifest in a savepoint's directory. Without one the error is fs.ErrNotExist and says what that
// usually means; one that was changed is [ErrCorrupt].
func ReadManifest(ctx context.Context, from *Files) (*Manifest, error) {
	var text bytes.Buffer
	err := from.retry(ctx, 0, func(ctx context.Context) error {
		text.Reset()
		return from.store.Get(ctx, ManifestName, &text)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is not a savepoint: it has no %s (%w); was it completed?", from.store, ManifestName, fs.ErrNotExist)
	case err != nil:
		return nil, err
	}
	m, err := decodeManifest(text.Bytes())
	if err != nil {
		return nil, fmt.Errorf("file %s in %s: %w", ManifestName, from.store, err)
	}
	return m, nil
}

func decodeManifest(text []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	if m.Format > Format {
		return nil, fmt.Errorf("it has format %d and this program knows %d: a newer version wrote it", m.Format, Format)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, m.Raw); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	if sha256.Sum256(compact.Bytes()) != m.Hash {
		return nil, fmt.Errorf("%w: its hash is not that of its pointer", ErrCorrupt)
	}
	m.Pointer = new(Pointer)
	if err := json.Unmarshal(m.Raw, m.Pointer); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	if m.ID != SavepointID(m.Pointer) {
		return nil, fmt.Errorf("%w: its ID is %s but its pointer's %s", ErrCorrupt, m.ID, SavepointID(m.Pointer))
	}
	return m, nil
}

// Verify reads every file of a savepoint and compares it with its hash. It reports all that is wrong, joined.
func (m *Manifest) Verify(ctx context.Context, from *Files) error {
	var errs []error
	for _, f := range m.Pointer.AllFiles() {
		if err := from.Verify(ctx, f); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
