package savepoint

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weirstream/weir/checkpoint"
)

// A folder of a store is a store: what is put there is there, and nowhere else.
func TestAFolderOfAStoreIsAStore(t *testing.T) {
	ctx := t.Context()
	whole, err := checkpoint.OpenStore(ctx, "mem://")
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	if err := whole.Put(ctx, "a/bc/x", strings.NewReader("outside")); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"", "a/b"} {
		s := below{whole, folder}
		if err := s.Put(ctx, "x", strings.NewReader("content")); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := s.Get(ctx, "x", &got); err != nil || got.String() != "content" {
			t.Errorf("%q: %q, %v", folder, got.String(), err)
		}
		listed, err := s.List(ctx, "x")
		if err != nil || len(listed) != 1 || listed[0].Name != "x" {
			t.Errorf("%q: %v, %v", folder, listed, err)
		}
		if there, err := whole.Exists(ctx, strings.TrimPrefix(folder+"/x", "/")); !there || err != nil {
			t.Errorf("%q: %v, %v", folder, there, err)
		}
		if err := s.Delete(ctx, "x"); err != nil {
			t.Error(err)
		}
		if there, err := s.Exists(ctx, "x"); there || err != nil {
			t.Errorf("%q: %v, %v", folder, there, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if there, err := whole.Exists(ctx, "a/bc/x"); !there || err != nil {
		t.Errorf("what is outside of the folder: %v, %v", there, err)
	}
}
