package zz

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/stream"
)

func cpu(who int) time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(who, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

type st struct{ *pebblestate.Backend }

func (s st) StateID(op string, d operators.StateDesc) (uint16, error) {
	return s.Backend.StateID(op, pebblestate.StateDesc(d))
}

func TestMeasure(t *testing.T) {
	runtime.LockOSThread()

	dir := t.TempDir()
	b, err := pebblestate.Open(context.Background(), pebblestate.Options{Dir: dir + "/a"}, pebblestate.Restore{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := &operators.Context{Subtask: stream.SubtaskID{Operator: "op"}, KeyGroups: 128, Groups: stream.KeyGroupRange{0, 127}, Store: st{b}}
	v, err := operators.NewValue[int64](ctx, "n", nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1_000_000
	keys := make([]string, n)
	groups := make([]stream.KeyGroup, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("u%07d", i)
		groups[i] = stream.KeyGroupOf([]byte(keys[i]), 128)
	}
	for i := range keys {
		ctx.SetKey(groups[i], keys[i])
		v.Put(int64(i))
	}
	{
		type c struct{ v, w int64 }
		m := map[string]*c{}
		for i := range keys {
			m[strings.Clone(keys[i])] = &c{}
		}
		x := uint64(1)
		c0 := cpu(1)
		for range 1_500_000 {
			x = x*6364136223846793005 + 1442695040888963407
			k := (x >> 33) % n
			p := m[keys[k]]
			p.v += int64(groups[k])
		}
		t.Logf("plain map: %.2f M/cpu s", 1.5/(cpu(1)-c0).Seconds())
	}
	enc := make(chan operators.Frozen, 1)
	ack := make(chan time.Duration, 1)
	go func() {
		for f := range enc {
			s := time.Now()
			w := b.NewDelta()
			if err := f.Encode(w); err != nil {
				panic(err)
			}
			_ = w.Bytes()
			ack <- time.Since(s)
		}
	}()
	enc <- v.Freeze(1)
	t.Log("encode 1M", <-ack)
	x := uint64(1)
	var pauses, encs []time.Duration
	var kb [16]byte
	for round := range 2 {
		start := time.Now(); c0 := cpu(1)
		const ops = 1_500_000
		wait := false
		for i := range ops {
			x = x*6364136223846793005 + 1442695040888963407
			k := (x >> 33) % n
			_ = kb
			ctx.SetKey(groups[k], keys[k])
			o, _, _ := v.Get()
			v.Put(o + 1)
			if i%100_000 == 99_999 {
				if wait {
					encs = append(encs, <-ack)
				}
				s := time.Now()
				f := v.Freeze(int64(round*100 + i/100_000 + 2))
				pauses = append(pauses, time.Since(s))
				enc <- f
				wait = true
			}
		}
		el := time.Since(start)
		encs = append(encs, <-ack)
		t.Logf("round %d: %.2f M Get+Put/s wall, %.2f M per cpu s of the thread", round, ops/el.Seconds()/1e6, ops/(cpu(1)-c0).Seconds()/1e6)
	}
	slices.Sort(pauses)
	slices.Sort(encs)
	t.Log("freeze p50", pauses[len(pauses)/2], "p99", pauses[len(pauses)*99/100], "max", pauses[len(pauses)-1], "encode ~95k p50", encs[len(encs)/2])
	t.Log("bytes", v.Bytes())
	// 200k changes
	for i := range 200_000 {
		ctx.SetKey(groups[i], keys[i])
		v.Put(int64(i))
	}
	f := v.Freeze(1000)
	s := time.Now()
	c0 := cpu(1)
	w := b.NewDelta()
	f.Encode(w)
	repr := w.Bytes()
	t.Log("encode 200k", time.Since(s), "cpu", cpu(1)-c0, len(repr))
	b.Close()
	// restore
	for range 3 {
		s = time.Now()
		c0 := cpu(0)
		c, err := pebblestate.Open(context.Background(), pebblestate.Options{Dir: dir + "/b"}, pebblestate.Restore{Checkpoint: 5, Deltas: []pebblestate.Delta{{First: 1, Checkpoint: 5, Repr: repr}},
			States: []pebblestate.State{{ID: 0, Operator: "op", StateDesc: pebblestate.StateDesc(v.Desc())}}})
		if err != nil {
			t.Fatal(err)
		}
		open := time.Since(s)
		if _, ok, err := c.Get(groups[77], 0, keys[77], nil); !ok || err != nil {
			t.Fatal(err)
		}
		t.Log("restore 200k to first get", open, time.Since(s), "cpu", cpu(0)-c0)
		s = time.Now()
		c0 = cpu(0)
		for i := range 200_000 {
			c.Get(groups[i], 0, keys[i], nil)
		}
		t.Log("200k gets from overlay", time.Since(s), "cpu", cpu(0)-c0)
		c.Close()
	}
	c, _ := pebblestate.Open(context.Background(), pebblestate.Options{Dir: dir + "/b"}, pebblestate.Restore{})
	c.AddDelta(1, repr)
	s = time.Now()
	if _, err := c.WriteBase(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	t.Log("base of 200k", time.Since(s))
	s = time.Now()
	for i := range 200_000 {
		c.Get(groups[i], 0, keys[i], nil)
	}
	t.Log("200k gets from pebble", time.Since(s))
	c.Close()
	_ = sort.Ints
	_ = binary.BigEndian
}
