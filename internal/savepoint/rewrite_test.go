package savepoint

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
)

// logs are topics that a test makes up.
type logs map[string]map[int32]kafka.Log

func (l logs) Topic(_ context.Context, name string, at time.Time) (checkpoint.TopicID, map[int32]kafka.Log, error) {
	return checkpoint.TopicID{}, l[name], nil
}

func TestRewrittenSavepointContainsAllThatItNeeds(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	m := small(t, a, 42)
	s, err := Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	edit, err := ParseOffset("views/0=timestamp:2026-11-30T10:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	one, err := ParseOffset("views:views/1=latest")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	r, err := s.Plan(t.Context(), RewriteOptions{
		Offsets: []OffsetEdit{edit, one}, DropState: []string{"count"}, Rename: map[string]string{"views": "pages"},
		Clusters: func(_ context.Context, source string) (Logs, error) {
			asked++
			if source != "views" {
				t.Errorf("asked for the cluster of %s", source)
			}
			return logs{"views": {0: {Start: 10, Stable: 200, End: 210, At: 30}, 1: {Start: 0, Stable: 60, End: 60, At: 40}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b); err == nil || asked == 0 {
		t.Error("a plan has written something, or asked nobody")
	}
	for range 2 { // it may be repeated
		if _, err := r.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(a); err != nil {
		t.Fatal(err)
	}
	got := whole(t, b)
	splits := got.Pointer.Sources[0].Splits
	if got.ID != r.ID || got.ID == m.ID || got.Rewritten.From != m.ID || got.Pointer.Sources[0].Name != "pages" || splits[0].Offset != 30 || splits[1].Offset != 60 ||
		len(got.Pointer.Operators[0].States) != 0 || !slices.Equal(got.Pointer.Dropped, []uint16{1}) {
		t.Errorf("%+v\n%+v", got, got.Pointer)
	}
	want := []string{"drop-state count", "rename views=pages", "set-offset views:views/0=30", "set-offset views:views/1=60"}
	if !slices.Equal(got.Rewritten.Edits, want) {
		t.Errorf("%q", got.Rewritten.Edits)
	}
	listed, err := List(t.Context(), dir)
	if err != nil || len(listed) != 1 || listed[0].RewrittenFrom != m.ID || !listed[0].Whole {
		t.Errorf("%+v, %v", listed, err)
	}
	// A copy of it keeps what it was made of.
	if _, err := Copy(t.Context(), b, filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	if c := whole(t, filepath.Join(dir, "c")); !reflect.DeepEqual(c.Rewritten, got.Rewritten) {
		t.Errorf("%+v", c.Rewritten)
	}
}

func TestWhatBrokersHaveToSayIsNotGuessed(t *testing.T) {
	a := filepath.Join(t.TempDir(), "a")
	small(t, a, 42)
	s, err := Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var o RewriteOptions
	for _, text := range []string{"views=earliest", "views/1=timestamp:2026-11-30T10:00:00+01:00", "views/0=5"} {
		e, err := ParseOffset(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Offsets = append(o.Offsets, e)
	}
	_, err = s.Plan(t.Context(), o)
	if err == nil || strings.Count(err.Error(), "give --brokers") != 2 {
		t.Error(err)
	}
	o.Offsets = o.Offsets[2:]
	r, err := s.Plan(t.Context(), o)
	if err != nil || r.Effects[0].Split.Records != 95 || r.Effects[0].Split.Log != nil {
		t.Errorf("%+v, %v", r, err)
	}
	for _, text := range []string{"views", "=5", "views/x=5", "views/-1=5", "views=soon", "views=timestamp:yesterday", "views=1.5"} {
		if _, err := ParseOffset(text); err == nil || !strings.Contains(err.Error(), "want TOPIC") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Which of two offsets for one partition is meant nobody can tell.
func TestAnOffsetIsSetOnce(t *testing.T) {
	a := filepath.Join(t.TempDir(), "a")
	small(t, a, 42)
	s, err := Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		edits []string
		drop  []string
		says  string
	}{
		{[]string{"views/0=5", "views=6"}, nil, "set-offset views=6: set-offset views/0=5 sets views:views/0 already"},
		{[]string{"views=6", "views:views/1=5"}, nil, "set-offset views:views/1=5: set-offset views=6 sets views:views/1 already"},
		{[]string{"views/0=5", "views/0=5"}, nil, ""},
		{[]string{"views/0=5", "views/1=5"}, nil, ""},
		{[]string{"views/0=5"}, []string{"views"}, "drop-state views drops that offset"},
		{[]string{"views=5"}, []string{"views/views"}, "drop-state views/views drops that offset"},
	} {
		var offsets []OffsetEdit
		for _, text := range c.edits {
			e, err := ParseOffset(text)
			if err != nil {
				t.Fatal(err)
			}
			offsets = append(offsets, e)
		}
		_, err := s.Plan(t.Context(), RewriteOptions{Offsets: offsets, DropState: c.drop})
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, drop %v: %v, want %q", c.edits, c.drop, err, c.says)
		}
	}
}
