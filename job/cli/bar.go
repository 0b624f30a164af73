package cli

import (
	"io"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"golang.org/x/term"

	"github.com/weirstream/weir/job"
)

// bar shows how far a command has come: one line a phase on a terminal, nothing elsewhere.
type bar struct {
	writer  progress.Writer // nil if the output is no terminal
	tracker *progress.Tracker
	phase   string
	done    chan struct{}
}

func newBar(out io.Writer) *bar {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &bar{}
	}
	b := &bar{writer: progress.NewWriter(), done: make(chan struct{})}
	b.writer.SetOutputWriter(f)
	b.writer.SetUpdateFrequency(100 * time.Millisecond)
	b.writer.SetMessageLength(8)
	b.writer.Style().Visibility.ETA = true
	go func() {
		defer close(b.done)
		b.writer.Render()
	}()
	return b
}

// show is called from one goroutine.
func (b *bar) show(p job.VerifyProgress) {
	if b.writer == nil {
		return
	}
	if p.Phase != b.phase {
		if b.tracker != nil {
			b.tracker.MarkAsDone()
		}
		b.phase = p.Phase
		b.tracker = &progress.Tracker{Message: p.Phase, Total: p.Total, Units: progress.UnitsDefault}
		b.writer.AppendTracker(b.tracker)
	}
	if p.Total > 0 {
		b.tracker.UpdateTotal(p.Total)
	}
	b.tracker.SetValue(p.Done)
}

// stop ends the drawing.
func (b *bar) stop() {
	if b.writer == nil {
		return
	}
	if b.tracker != nil {
		b.tracker.MarkAsDone()
	}
	b.writer.Stop()
	<-b.done
}
