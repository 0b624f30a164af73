package pebblestate

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A base that is to be compacted is open before that begins, however long opening takes; and then it is compacted.
func TestNothingIsCompactedWhileABaseIsOpened(t *testing.T) {
	fs := vfs.NewMem()
	files := storage{}
	opts := Options{Dir: "first", FS: fs, CacheBytes: 4 << 20}
	b := open(t, opts, Restore{})
	declare(t, b)
	b.compactions.Unregister() // so the base is left as it is written
	var base BaseFiles
	for checkpoint := int64(1); checkpoint <= 30; checkpoint++ {
		w := b.NewDelta()
		for i := range 50 {
			if err := w.Put(groupOf("k"), 0, fmt.Sprint("k", (i*7+int(checkpoint))%100), nil, []byte("v")); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.AddDelta(checkpoint, w); err != nil {
			t.Fatal(err)
		}
		base = writeBase(t, b, checkpoint)
	}
	files.store(t, fs, base)
	tables := 0
	for _, f := range base.Files {
		if isTable(f.Name) {
			tables++
		}
	}
	if tables < 20 {
		t.Fatalf("%d tables: nothing to compact", tables)
	}
	// Compactions are offered all the while, as often as there is an operation on a file.
	restored := Restore{Checkpoint: 30, Base: base.Files, Fetch: files.fetch, States: b.States()}
	var next *Backend
	var opened atomic.Bool
	placed, compacted := sync.Map{}, make(chan struct{}, 1)
	second := Options{Dir: "second", CacheBytes: 4 << 20, FS: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch {
		case !opened.Load():
			if ok, _ := next.compactions.TrySchedule(); ok {
				t.Errorf("a compaction may begin while the base is opened, at %v of %s", op.Kind, op.Path)
			}
			if op.Kind == errorfs.OpCreate {
				placed.Store(op.Path, true)
			}
		case op.Kind == errorfs.OpRemove && isTable(op.Path):
			if _, was := placed.Load(op.Path); was { // the end of a compaction: its input goes
				select {
				case compacted <- struct{}{}:
				default:
				}
			}
		}
		return nil
	}))}
	next, err := newBackend(second, restored, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.restore(t.Context(), restored); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := next.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	opened.Store(true)
	next.compactions.begin()
	select {
	case <-compacted:
	case <-time.After(time.Minute):
		t.Fatal("it is not compacted afterwards either")
	}
}

// compacted is a database with so many compactions to do. look is called at each look for one.
type compacted struct {
	todo, done int
	look       func()
	grants     []pebble.CompactionGrantHandle
}

func (d *compacted) GetAllowedWithoutPermission() int { return 1 }

func (d *compacted) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	waiting := d.todo > 0
	if d.look != nil {
		d.look()
	}
	return waiting, pebble.WaitingCompaction{}
}

func (d *compacted) Schedule(g pebble.CompactionGrantHandle) bool {
	if d.todo == 0 {
		return false
	}
	d.todo--
	d.done++
	d.grants = append(d.grants, g)
	return true
}

func TestCompactionsRunOneAtATime(t *testing.T) {
	c, d := newCompactions(), &compacted{todo: 3}
	check := func(want int, when string) {
		t.Helper()
		if d.done != want {
			t.Fatalf("%s: %d begun, want %d", when, d.done, want)
		}
	}
	c.Register(2, d)
	if ok, _ := c.TrySchedule(); ok {
		t.Fatal("one begins before the database is open")
	}
	check(0, "before it is open")
	c.begin()
	check(1, "open")
	if ok, _ := c.TrySchedule(); ok {
		t.Fatal("a second one begins")
	}
	d.grants[0].Done()
	check(2, "one has ended")
	d.grants[1].Done()
	check(3, "two have ended")
	d.grants[2].Done()
	// Pebble finds something to do in the moment after it has said that there is nothing: it is asked again.
	d.look = func() {
		d.look = nil
		d.todo++
		if ok, _ := c.TrySchedule(); ok {
			t.Error("granted while another is offered")
		}
	}
	c.offer()
	check(4, "refused while it was asked")
	d.grants[3].Done()
	if ok, _ := c.TrySchedule(); !ok {
		t.Fatal("refused although nothing runs")
	}
	c.Unregister()
	d.todo = 1
	c.Done()
	check(4, "closed")
	if ok, _ := c.TrySchedule(); ok {
		t.Fatal("one begins after the end")
	}
}
