package pebblestate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Every file operation of a base fails once, each in a run of its own: the error comes in time, Close returns, and what
// was stored before can be restored. The sweep ends with the run that is not touched.
func TestABaseReportsTheFaultOfAnyFileOperation(t *testing.T) {
	untouched := false
	for n := int32(0); n < 200 && !untouched; n++ {
		mem := vfs.NewMem()
		var on, hit atomic.Bool
		var count atomic.Int32
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if on.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && count.Add(1)-1 == n {
				hit.Store(true)
				return errorfs.ErrInjected
			}
			return nil
		}))
		opts := Options{Dir: "d", FS: fs, BaseTimeout: 10 * time.Second, CloseTimeout: 10 * time.Second}
		b, err := Open(t.Context(), opts, Restore{})
		if err != nil {
			t.Fatal(err)
		}
		declare(t, b)
		add(t, b, 1, 0, "a", "1", "b", "2")
		first := writeBase(t, b, 1)
		files := storage{}
		files.store(t, mem, first)
		add(t, b, 2, 0, "c", "3", "a", "-")
		on.Store(true)
		second, err := b.WriteBase(t.Context(), 2)
		on.Store(false)
		if untouched = !hit.Load(); untouched && err != nil {
			t.Fatalf("operation %d: nothing failed but the base did: %v", n, err)
		}
		if err := b.Close(); err != nil && !untouched {
			t.Logf("operation %d: close: %v", n, err)
		}
		// An error that Pebble could do without is none, but the base must be whole then.
		if err == nil {
			if second.Checkpoint != 2 {
				t.Fatalf("operation %d: the base is of checkpoint %d", n, second.Checkpoint)
			}
			continue
		}
		if !strings.HasPrefix(err.Error(), "base: ") || b.Err() == nil || b.Applied() != 1 {
			t.Errorf("operation %d: error %q, kept %v, applied %d", n, err, b.Err(), b.Applied())
		}
		again := open(t, Options{Dir: "d2", FS: mem}, Restore{Checkpoint: 1, Base: first.Files, Fetch: files.fetch, States: b.States()})
		if got := dump(t, again, everyGroup, 0); fmt.Sprint(got) != "map[a:1 b:2]" {
			t.Fatalf("operation %d: restored %v", n, got)
		}
	}
	if !untouched {
		t.Error("200 operations and no end")
	}
}

// Pebble waits for space without end; the base must not.
func TestAFullDiskEndsTheBase(t *testing.T) {
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpRemove && op.Kind != errorfs.OpFileClose {
			return syscall.ENOSPC
		}
		return nil
	}))
	b, err := Open(t.Context(), Options{Dir: "d", FS: fs, BaseTimeout: time.Minute, CloseTimeout: 10 * time.Second}, Restore{})
	if err != nil {
		t.Fatal(err)
	}
	declare(t, b)
	add(t, b, 1, 0, "a", "1")
	full.Store(true)
	start := time.Now()
	_, err = b.WriteBase(t.Context(), 1)
	if !errors.Is(err, syscall.ENOSPC) || b.Err() == nil {
		t.Errorf("error %v, kept %v", err, b.Err())
	}
	if _, err := b.WriteBase(t.Context(), 1); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("another base after the failure: %v", err)
	}
	_ = b.Close() // the disk is full
	if d := time.Since(start); d > 8*time.Second {
		t.Errorf("it took %s to say so", d)
	}
	select {
	case <-b.unwritten:
	default:
		t.Error("the writer still runs")
	}
}

func TestABaseEndsWithItsContext(t *testing.T) {
	b := open(t, Options{Dir: "d", FS: vfs.NewMem()}, Restore{})
	add(t, b, 1, 0, "a", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.WriteBase(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestReadersAndABaseRunSideBySide(t *testing.T) {
	fs := vfs.NewMem()
	b := open(t, Options{Dir: "c", FS: fs}, Restore{})
	declare(t, b)
	pairs := func(round int) (p []string) {
		for i := range 500 {
			p = append(p, fmt.Sprintf("u%d", i), fmt.Sprint(round))
		}
		return p
	}
	add(t, b, 1, 0, pairs(1)...)
	b = open(t, Options{Dir: "d", FS: fs}, Restore{Checkpoint: 1, Deltas: b.Deltas(), States: b.States()})
	stop, stopped := make(chan struct{}), make(chan error, 2)
	for range 2 {
		go func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					stopped <- nil
					return
				default:
				}
				key := fmt.Sprintf("u%d", i%500)
				if _, ok, err := b.Get(groupOf(key), 0, key, nil); err != nil || !ok {
					stopped <- fmt.Errorf("key %s: %t, %w", key, ok, err)
					return
				}
				n := 0
				err := b.Scan(groupOf(key), 0, key, func(_, _ []byte) error { n++; return nil })
				if err != nil || n != 1 || b.Empty(0) {
					stopped <- fmt.Errorf("key %s: %d entries, %w", key, n, err)
					return
				}
			}
		}()
	}
	for round := range int64(10) {
		add(t, b, round+2, 0, pairs(int(round)+2)...)
		base := writeBase(t, b, round+2)
		if err := b.Release(base); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	for range 2 {
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
	if v, _, _ := b.Get(groupOf("u7"), 0, "u7", nil); string(v) != "11" {
		t.Errorf("u7 is %q after the last base", v)
	}
}

func TestAMergedDeltaStaysOutOfABaseBeforeItsEnd(t *testing.T) {
	fs := vfs.NewMem()
	b := open(t, Options{Dir: "d", FS: fs}, Restore{})
	declare(t, b)
	for i := range int64(6) {
		add(t, b, i+1, 0, "a", fmt.Sprint(i+1))
	}
	if _, err := b.MergeDeltas(0); err != nil {
		t.Fatal(err)
	}
	base := writeBase(t, b, 4)
	if base.Checkpoint != 0 || b.Applied() != 0 || len(b.Deltas()) != 1 {
		t.Errorf("base of checkpoint %d, applied %d, %d deltas; want 0, 0, 1", base.Checkpoint, b.Applied(), len(b.Deltas()))
	}
	base = writeBase(t, b, 7)
	if base.Checkpoint != 7 || b.Applied() != 7 || len(b.Deltas()) != 0 {
		t.Errorf("base of checkpoint %d, applied %d, %d deltas; want 7, 7, 0", base.Checkpoint, b.Applied(), len(b.Deltas()))
	}
	if err := b.AddDelta(7, b.NewDelta()); err == nil {
		t.Error("a delta of a checkpoint that the base has")
	}
}
