package main

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/weirstream/weir/checkpoint"
)

// pauseRecord keeps how long each snapshot kept a subtask from processing records.
type pauseRecord struct {
	mu     sync.Mutex
	pauses []pause
}

type pause struct {
	at time.Time
	checkpoint.SnapshotEvent
}

func (r *pauseRecord) listener() *checkpoint.Listener {
	return &checkpoint.Listener{OnSnapshot: func(e checkpoint.SnapshotEvent) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.pauses = append(r.pauses, pause{time.Now(), e})
	}}
}

// write writes one line a snapshot: its time (milliseconds since the Unix epoch), the checkpoint, the subtask, the pause in
// nanoseconds and the number of changes that it froze.
func (r *pauseRecord) write(f *os.File) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := bufio.NewWriter(f)
	for _, p := range r.pauses {
		fmt.Fprintf(w, "%d,%d,%s,%d,%d\n", p.at.UnixMilli(), p.Checkpoint, p.Subtask, p.Pause.Nanoseconds(), p.Entries)
	}
	return w.Flush()
}
