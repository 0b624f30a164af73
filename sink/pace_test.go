package sink

import (
	"testing"
	"time"
)

func TestRoomFollowsWhatTheBrokersTake(t *testing.T) {
	const most = 64 << 20
	now := time.Now()
	p := newPace(10*time.Second, most)
	if p.room != leastRoom {
		t.Fatalf("room for %d bytes before anything is known", p.room)
	}
	// acknowledged: so many bytes each time, after so long.
	acknowledged := func(times, size int, after time.Duration) {
		for range times {
			now = now.Add(after)
			p.done(size, false, now)
		}
	}
	p.busy(now)
	acknowledged(200, 64<<10, 2*time.Millisecond) // 32 MiB/s
	if p.room != most {
		t.Errorf("a quick line has room for %d", p.room)
	}
	acknowledged(10, 100_000, time.Second) // 100 kB/s
	if p.room != 1_000_000 {
		t.Errorf("100 kB/s have room for %d in 10 s", p.room)
	}
	acknowledged(3, 1000, time.Second)
	if p.room != leastRoom {
		t.Errorf("1 kB/s has room for %d", p.room)
	}
	acknowledged(200, 64<<10, 2*time.Millisecond)
	if p.room != most {
		t.Errorf("the line is quick again, and has room for %d", p.room)
	}
	// One record a second is not a slow line if each is acknowledged at once; nor does it make a slow one quick.
	trickle := func(size int) {
		for range 10 {
			now = now.Add(time.Second)
			p.busy(now)
			now = now.Add(time.Millisecond)
			p.done(size, true, now)
		}
	}
	if trickle(100); p.room != most {
		t.Errorf("a quick line with little to do has room for %d", p.room)
	}
	acknowledged(3, 1000, time.Second)
	if trickle(1000); p.room != leastRoom {
		t.Errorf("1 kB in a millisecond gives room for %d", p.room)
	}
	if trickle(1_000_000); p.room != 8_000_000 {
		t.Errorf("1 MB in a millisecond gives room for %d", p.room)
	}
	acknowledged(3, 1000, time.Second)
	acknowledged(1, 10_000_000, paceWindow)
	if p.room != 2*leastRoom {
		t.Errorf("one quick window gives room for %d", p.room)
	}
	if p := newPace(time.Second, 1<<16); p.room != 1<<16 {
		t.Errorf("room for %d, where max_buffered is 64 KiB", p.room)
	}
}
