package pebblestate

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// What a failed attempt has left in a working directory is no part of what the next one restores there (C44): neither where
// there is a base to restore nor where there is none.
func TestNothingOfAFailedAttemptIsRestored(t *testing.T) {
	fs := vfs.NewCrashableMem()
	opts := Options{Dir: "shard", FS: errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			t.Errorf("%s is synced, which nobody needs and may take long", op.Path)
		}
		return nil
	})), CacheBytes: 4 << 20}
	files := storage{}
	b := open(t, opts, Restore{})
	declare(t, b)
	put := func(b *Backend, checkpoint int64, key, value string) {
		t.Helper()
		w := b.NewDelta()
		if err := w.Put(groupOf(key), 0, key, nil, []byte(value)); err != nil {
			t.Fatal(err)
		}
		if err := b.AddDelta(checkpoint, w); err != nil {
			t.Fatal(err)
		}
	}
	put(b, 1, "a", "committed")
	first := writeBase(t, b, 1)
	files.store(t, fs, first)
	states := b.States()
	put(b, 2, "a", "aborted")
	put(b, 3, "b", "aborted")
	aborted := writeBase(t, b, 3)
	if len(aborted.Files) == 0 {
		t.Fatal("no base")
	}
	// The process ends here: what it had written is on the disk. Or the machine: some of it is, or none.
	for name, restore := range map[string]Restore{
		"from a base":  {Checkpoint: 1, Base: first.Files, Fetch: files.fetch, States: states},
		"from nothing": {},
	} {
		for _, kept := range []int{100, 50, 0} {
			opts.FS = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rand.New(rand.NewPCG(1, 2))})
			next := open(t, opts, restore)
			declare(t, next)
			value, ok, err := next.Get(groupOf("a"), 0, "a", nil)
			if err != nil || ok != (restore.Base != nil) || ok && string(value) != "committed" {
				t.Errorf("%s, %d %% of what was written are kept: a is %q, %v, %v", name, kept, value, ok, err)
			}
			if value, ok, err := next.Get(groupOf("b"), 0, "b", nil); err != nil || ok {
				t.Errorf("%s, %d %% of what was written are kept: b is %q, %v, %v", name, kept, value, ok, err)
			}
		}
	}
}
