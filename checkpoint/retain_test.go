package checkpoint

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// pointer makes a committed pointer: files and, as @N, deltas inside the record at offset N.
func committed(checkpoint, offset int64, needs ...string) Committed {
	p := &Pointer{Checkpoint: checkpoint}
	for _, n := range needs {
		var at int64
		if _, err := fmt.Sscanf(n, "@%d", &at); err == nil {
			p.Deltas = append(p.Deltas, Delta{Offset: at})
		} else {
			p.Deltas = append(p.Deltas, Delta{File: &File{Name: n}, Offset: -1})
		}
	}
	return Committed{Offset: offset, Pointer: p}
}

func TestOnlyWhatNoRetainedPointerListsIsDeleted(t *testing.T) {
	one, two, three := committed(1, 10, "a", "b"), committed(2, 20, "b", "c", "@10"), committed(3, 30, "c", "@20")
	for _, tc := range []struct {
		name       string
		known      []Committed
		retained   int
		savepoints []Savepoint
		keep       int
		files      string
		below      int64
	}{
		{"the first", []Committed{one}, 1, nil, 1, "", 10},
		{"an older record holds a delta", []Committed{one, two}, 1, nil, 1, "a", 10},
		{"it moves on with the base", []Committed{two, three}, 1, nil, 1, "b", 20},
		{"several at once", []Committed{one, two, three}, 1, nil, 1, "a b", 20},
		{"two are retained", []Committed{one, two, three}, 2, nil, 2, "a", 10},
		{"more than there are", []Committed{one, two}, 5, nil, 2, "", 10},
		{"a savepoint is under way", []Committed{one, two, three}, 1, []Savepoint{{Checkpoint: 1, Offset: 10}}, 2, "", 10},
		{"a savepoint whose pointer is not loaded", []Committed{two, three}, 1, []Savepoint{{Checkpoint: 1, Offset: 10}}, 1, "b", 10},
	} {
		g := Retain(tc.known, tc.retained, tc.savepoints, nil)
		if len(g.Keep) != tc.keep || strings.Join(g.Files, " ") != tc.files || g.Below != tc.below {
			t.Errorf("%s: keep %d, files %v, below %d", tc.name, len(g.Keep), g.Files, g.Below)
		}
	}
}

func TestOrphansAreFilesOfOtherAttemptsThatNobodyLists(t *testing.T) {
	listed := []Stored{{Name: "j/0/old/1.sst"}, {Name: "j/0/old/2.sst"}, {Name: "j/0/own/3.sst"}, {Name: "something"}}
	got := Orphans(listed, []Committed{committed(1, 10, "j/0/old/2.sst")}, nil, "own")
	if !slices.Equal(got, []string{"j/0/old/1.sst"}) {
		t.Error(got)
	}
}

func TestWhatIsLeftBehindStays(t *testing.T) {
	one, two, three := committed(1, 10, "a", "b"), committed(2, 20, "b", "c"), committed(3, 30, "d", "@20")
	left := committed(1, -1, "a", "b").Pointer
	left.File = &File{Name: "left"}
	g := Retain([]Committed{one, two, three}, 1, nil, left)
	if len(g.Keep) != 1 || strings.Join(g.Files, " ") != "c" || g.Below != 20 {
		t.Errorf("keep %d, files %v, below %d: no record has to stay for what was left behind", len(g.Keep), g.Files, g.Below)
	}
	listed := []Stored{{Name: "j/0/old/1.left"}, {Name: "j/0/old/2.sst"}, {Name: "j/0/old/3.sst"}}
	left = committed(1, -1, "j/0/old/2.sst").Pointer
	left.File = &File{Name: "j/0/old/1.left"}
	if got := Orphans(listed, nil, left, "own"); !slices.Equal(got, []string{"j/0/old/3.sst"}) {
		t.Error(got)
	}
}

// The file that a checkpoint is kept in has all that the topic's records had, whatever becomes of them.
func TestACheckpointThatIsLeftBehindNeedsNoRecord(t *testing.T) {
	ctx := t.Context()
	files := memFiles(t)
	content := []byte("inside a record")
	base, err := files.UploadBytes(ctx, func(h Hash) string { return FileName("clicks", 0, "a", 1, h, "base") }, []byte("base"))
	if err != nil {
		t.Fatal(err)
	}
	p := examplePointer()
	p.Base.Files = []File{base}
	p.Deltas = []Delta{{First: 31, Checkpoint: 41, Size: int64(len(content)), Hash: sha256.Sum256(content), Offset: 77}, p.Deltas[2]}
	read := func(_ context.Context, d Delta) ([]byte, error) { return content, nil }

	if _, err := CompleteLeft(ctx, files, p, nil, read); !IsGone(err) {
		t.Errorf("without its file: %v", err)
	}
	if _, err := CompleteLeft(ctx, files, p, []Stored{{Name: base.Name, Size: 3}}, read); !IsGone(err) {
		t.Errorf("with a file of another size: %v", err)
	}
	listed := []Stored{{Name: base.Name, Size: base.Size}}
	if _, err := CompleteLeft(ctx, files, p, listed, func(context.Context, Delta) ([]byte, error) { return nil, errors.New("no answer") }); err == nil || IsGone(err) {
		t.Errorf("a broker that does not answer: %v", err)
	}
	whole, err := CompleteLeft(ctx, files, p, listed, read)
	if err != nil {
		t.Fatal(err)
	}
	left, err := WriteLeft(ctx, files, whole, "b", 43)
	if err != nil {
		t.Fatal(err)
	}
	got, err := LoadLeft(ctx, files, left)
	if err != nil || !reflect.DeepEqual(got, whole) {
		t.Fatalf("got %+v, %v\nwant %+v", got, err, whole)
	}
	if string(got.Deltas[0].Inline) != string(content) || got.Deltas[0].Offset != -1 || got.Unfinished != nil || len(got.AllFiles()) != 2 {
		t.Errorf("%+v", got)
	}
	if p.Deltas[0].Inline != nil || p.File != nil {
		t.Error("the pointer that it was made of has changed")
	}
	if err := files.Store().Delete(ctx, left.File.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadLeft(ctx, files, left); !IsGone(err) {
		t.Errorf("without the file: %v", err)
	}
}
