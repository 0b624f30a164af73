package savepoint

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/checkpoint"
)

// What a comparison finds is what comparing two plain maps finds, whatever part of the state is in a base.
func TestADiffIsThatOfTwoMaps(t *testing.T) {
	for seed := range uint64(12) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		dir := t.TempDir()
		var contents [2]map[string]int
		var opened [2]*Savepoint
		for i := range 2 {
			contents[i] = map[string]int{}
			var text strings.Builder
			fmt.Fprintf(&text, "operator op process 1\nstate %d s map map_of_cbor:int64_(version_1)_to_cbor:int64\nstate 7 other value x\n", i)
			for range rnd.IntN(4) {
				for range rnd.IntN(60) {
					key, space, value := rnd.IntN(20), rnd.IntN(3), rnd.IntN(3)
					name := fmt.Sprintf("k%d int:%d", key, space)
					if rnd.IntN(4) == 0 {
						delete(contents[i], name)
						fmt.Fprintf(&text, "delete %d %s\n", i, name)
					} else {
						contents[i][name] = value
						fmt.Fprintf(&text, "put %d %s int:%d\n", i, name, value)
					}
				}
				text.WriteString([]string{"delta\n", "base\n"}[rnd.IntN(2)])
			}
			text.WriteString("put 7 noise - 00\n")
			path := filepath.Join(dir, fmt.Sprint(i))
			makeSavepoint(t, path, text.String())
			s, err := Open(t.Context(), path)
			must(t, err)
			defer s.Close()
			opened[i] = s
		}
		want := StateChange{EntriesWas: int64(len(contents[0])), EntriesIs: int64(len(contents[1]))}
		for name, value := range contents[0] {
			if other, ok := contents[1][name]; !ok {
				want.Removed++
			} else if other != value {
				want.Changed++
			}
		}
		for name := range contents[1] {
			if _, ok := contents[0][name]; !ok {
				want.Added++
			}
		}
		d, err := Diff(t.Context(), opened[0], opened[1], t.TempDir())
		must(t, err)
		got := d.Operators[0].States[0]
		if got.EntriesWas != want.EntriesWas || got.EntriesIs != want.EntriesIs || got.Added != want.Added || got.Removed != want.Removed || got.Changed != want.Changed {
			t.Errorf("seed %d: got %+v, want %+v", seed, got, want)
		}
		if same := maps.Equal(contents[0], contents[1]); same != (got.Change == Same) {
			t.Errorf("seed %d: %s, and the maps are equal: %v", seed, got.Change, same)
		}
		for _, e := range got.Samples {
			name := fmt.Sprintf("%s int:%s", e.Key, e.Namespace)
			was, inWas := contents[0][name]
			is, inIs := contents[1][name]
			if inWas != (e.Was != "") || inIs != (e.Is != "") || inWas && e.Was != fmt.Sprint(was) || inIs && e.Is != fmt.Sprint(is) || was == is && inWas && inIs {
				t.Errorf("seed %d: sample %+v, and the maps have %d (%v) and %d (%v)", seed, e, was, inWas, is, inIs)
			}
		}
		for _, c := range []Change{Added, Removed, Changed} {
			n := len(slices.DeleteFunc(slices.Clone(got.Samples), func(s Sample) bool { return s.Change != c }))
			if all := map[Change]int64{Added: want.Added, Removed: want.Removed, Changed: want.Changed}[c]; n != int(min(all, samples)) {
				t.Errorf("seed %d: %d samples of %d that are %s", seed, n, all, c)
			}
		}
	}
}

func TestASavepointInABucketIsLookedInto(t *testing.T) {
	store, err := checkpoint.OpenStore(t.Context(), "mem://")
	must(t, err)
	writeSavepoint(t, store, "operator sum aggregate 5\nstate 0 sum value cbor:int64\nput 0 a - int:1\nbase\nput 0 b - int:2")
	files := checkpoint.NewFiles(store, nil)
	m, err := checkpoint.ReadManifest(t.Context(), files)
	must(t, err)
	s := &Savepoint{Location: "mem://", Manifest: m, Files: files}
	defer s.Close()
	r, err := Inspect(t.Context(), s, t.TempDir())
	must(t, err)
	if st := r.Operators[0].States[0]; st.Entries != 2 || st.Keys != 2 {
		t.Errorf("%+v", st)
	}
}
