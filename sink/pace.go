package sink

import "time"

const (
	// leastRoom is how much may wait for the brokers before anything is known of them: a checkpoint ends in time with it even
	// on a line of 10 kB/s.
	leastRoom = 256 << 10
	// paceWindow is how long the brokers are busy between two measurements, unless they have nothing left to do before.
	paceWindow = 25 * time.Millisecond
)

// pace bounds what waits for the brokers to what they acknowledged lately in the time it may take. Whatever waits belongs
// to checkpoints that are under way, and those end only when it is acknowledged: with a fixed bound, a line that is slow
// enough would let each of them expire, and the job would restart for ever. It is measured only while something waits, so a
// job with little to write is not taken for a slow line.
//
// It belongs to the lock of the Transactions.
type pace struct {
	// patience is how long what waits may take; most is the bound that the options set.
	patience time.Duration
	most     int64
	// since is when the window under way began, acked what was acknowledged in it, in bytes before compression.
	since time.Time
	acked int64
	// room is how many bytes may wait.
	room int64
}

func newPace(patience time.Duration, most int64) pace {
	return pace{patience: patience, most: most, room: min(leastRoom, most)}
}

// busy begins a window: nothing waited before now.
func (p *pace) busy(now time.Time) { p.since, p.acked = now, 0 }

// done notes an acknowledgement, after which nothing may be left to wait for, and measures at the end of a window.
func (p *pace) done(size int, nothingLeft bool, now time.Time) {
	p.acked += int64(size)
	took := now.Sub(p.since)
	full := took >= paceWindow
	if !full && !nothingLeft {
		return
	}
	allowed := float64(p.acked) / max(took, time.Microsecond).Seconds() * p.patience.Seconds()
	if !full {
		// They could have taken more, but a few bytes at once do not tell how much.
		allowed = max(float64(p.room), min(allowed, float64(8*p.acked)))
	}
	// A slow line may let a little through at once: it takes several windows to believe that a line is quick.
	allowed = min(allowed, float64(2*p.room), float64(p.most))
	p.room = int64(max(allowed, float64(min(leastRoom, p.most))))
	p.busy(now)
}
