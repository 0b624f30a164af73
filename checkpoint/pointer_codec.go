package checkpoint

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/fxamacker/cbor/v2"
)

// Format is the version of the pointer's format. Fields may be added without another version if a reader that does not
// know them may ignore them.
const Format = 1

// MaxPointer is the size of a pointer record from which on the rest of the pointer goes into a file: a broker takes
// records of 1 MiB by default.
const MaxPointer = 900 << 10

var (
	encoding = must(cbor.CoreDetEncOptions().EncMode())
	decoding = must(cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the options are constants
	}
	return v
}

// EncodePointer returns the pointer in CBOR, in the deterministic form of RFC 8949: equal pointers are equal bytes. It
// sets the format.
func EncodePointer(p *Pointer) ([]byte, error) {
	p.Format = Format
	b, err := encoding.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("pointer of checkpoint %d: %w", p.Checkpoint, err)
	}
	return b, nil
}

// DecodePointer is the inverse of EncodePointer. Bytes that are no pointer are [ErrCorrupt]; a newer format is an error
// that says so. If File is set, the pointer is only its head: see [LoadPointer].
func DecodePointer(b []byte) (*Pointer, error) {
	var head struct {
		Format int `cbor:"format"`
	}
	if err := decoding.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("pointer: %w: %v", ErrCorrupt, err)
	}
	switch {
	case head.Format > Format:
		return nil, fmt.Errorf("pointer: it has format %d and this program knows %d: a newer version wrote it", head.Format, Format)
	case head.Format < 1:
		return nil, fmt.Errorf("pointer: %w: it has no format", ErrCorrupt)
	}
	p := new(Pointer)
	if err := decoding.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("pointer: %w: %v", ErrCorrupt, err)
	}
	return p, nil
}

// Packed is a pointer as it is to be written.
type Packed struct {
	// Record is the value of the record in the checkpoint topic.
	Record []byte
	// Rest, if not nil, is the content of a file that has to be in the store, under File.Name, before Record is written.
	Rest []byte
	File File
}

// PackPointer encodes a pointer. If that is more than max bytes (MaxPointer but for tests), sources, topics, operators,
// base and deltas go into a file, and the record keeps the head and the deltas that are inline: later pointers find those
// by the record's offset.
func PackPointer(p *Pointer, max int) (Packed, error) {
	record, err := EncodePointer(p)
	if err != nil || len(record) <= max {
		return Packed{Record: record}, err
	}
	rest := *p
	rest.Deltas = slices.Clone(p.Deltas)
	head := *p
	head.Topics, head.Sources, head.Operators, head.Base, head.Deltas, head.Unfinished = nil, nil, nil, nil, nil, nil
	for i, d := range p.Deltas {
		if d.Inline != nil {
			head.Deltas = append(head.Deltas, d)
			rest.Deltas[i].Inline = nil
		}
	}
	var out Packed
	if out.Rest, err = EncodePointer(&rest); err != nil {
		return Packed{}, err
	}
	out.File = File{Size: int64(len(out.Rest)), Hash: sha256.Sum256(out.Rest)}
	out.File.Name = FileName(p.Job, p.Shard, p.Attempt, p.Checkpoint, out.File.Hash, "pointer")
	head.File = &out.File
	if out.Record, err = EncodePointer(&head); err != nil {
		return Packed{}, err
	}
	if len(out.Record) > max {
		return Packed{}, fmt.Errorf("pointer of checkpoint %d: %d bytes are more than the %d that fit into a record: lower inline_threshold", p.Checkpoint, len(out.Record), max)
	}
	return out, nil
}

// LoadPointer decodes a record of the checkpoint topic and reads the rest of the pointer, if it is in a file.
func LoadPointer(ctx context.Context, files *Files, record []byte) (*Pointer, error) {
	head, err := DecodePointer(record)
	if err != nil || head.File == nil {
		return head, err
	}
	content, err := files.ReadVerified(ctx, *head.File)
	if err != nil {
		return nil, fmt.Errorf("pointer of checkpoint %d: %w", head.Checkpoint, err)
	}
	p, err := DecodePointer(content)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", head.File.Name, err)
	}
	if p.Job != head.Job || p.Checkpoint != head.Checkpoint || p.Attempt != head.Attempt {
		return nil, fmt.Errorf("file %s: %w: it belongs to checkpoint %d of attempt %s", head.File.Name, ErrCorrupt, p.Checkpoint, p.Attempt)
	}
	p.File = head.File
	for i := range p.Deltas {
		for _, d := range head.Deltas {
			if d.Hash == p.Deltas[i].Hash && p.Deltas[i].File == nil && p.Deltas[i].Offset < 0 {
				p.Deltas[i].Inline = d.Inline
			}
		}
	}
	return p, nil
}

// InlineDelta returns the delta with the given hash out of the pointer record that has it inline, verified.
func InlineDelta(record []byte, want Delta) ([]byte, error) {
	p, err := DecodePointer(record)
	if err != nil {
		return nil, err
	}
	for _, d := range p.Deltas {
		if d.Hash == want.Hash && d.Inline != nil {
			if sha256.Sum256(d.Inline) != want.Hash {
				return nil, fmt.Errorf("delta of checkpoint %d: %w: another SHA-256", want.Checkpoint, ErrCorrupt)
			}
			return d.Inline, nil
		}
	}
	return nil, fmt.Errorf("delta of checkpoint %d: %w: the pointer of checkpoint %d at offset %d has no such delta", want.Checkpoint, ErrCorrupt, p.Checkpoint, want.Offset)
}

// AllFiles lists every file that the pointer needs, itself included.
func (p *Pointer) AllFiles() []File {
	var out []File
	if p.Base != nil {
		out = append(out, p.Base.Files...)
	}
	for _, d := range p.Deltas {
		if d.File != nil {
			out = append(out, *d.File)
		}
	}
	if p.File != nil {
		out = append(out, *p.File)
	}
	return out
}
