package runtime

import (
	"errors"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// stage is one step of a chain.
type stage struct {
	node  *Node
	ctx   *operators.Context
	impl  *Stage
	ports []portTime
	// watermark and idle are what was last handed on.
	watermark int64
	idle      bool
	// next are the steps of the same chain that read this one, and exchanges the channels to other tasks.
	next      []stagePort
	exchanges []*exchangeOut
	// moved notes that event time has moved: something that a checkpoint has to keep (rule 9).
	moved func()
	// counts are published by the end of a batch, so that a record costs no atomic operation.
	counts  counts
	metrics *StepMetrics
}

type counts struct{ recordsIn, bytesIn, recordsOut, bytesOut int64 }

type stagePort struct {
	stage *stage
	port  int
}

type portTime struct {
	watermark int64
	idle      bool
}

// setWatermark tells a stage what is known of time on one of its ports. When the least over the ports that are not idle
// moves on, or the greatest of all once each is idle (as in Flink), the operator hears of it, and then the stages after it.
func (s *stage) setWatermark(port int, wm int64, idle bool) error {
	p := &s.ports[port]
	if wm > p.watermark {
		p.watermark = wm
	}
	p.idle = idle
	least, greatest, allIdle := stream.MaxTime, stream.MinTime, true
	for _, p := range s.ports {
		greatest = max(greatest, p.watermark)
		if !p.idle {
			allIdle = false
			least = min(least, p.watermark)
		}
	}
	if allIdle {
		least = greatest // nobody holds time back, whichever port became idle last
	}
	if s.impl.Generator != nil && least != stream.MaxTime {
		return nil // a generator makes its own; it hands on only the end of the input
	}
	return s.advance(max(least, s.watermark), allIdle)
}

// advance hands a watermark to the operator and on. A watermark never goes back.
func (s *stage) advance(wm int64, idle bool) error {
	if wm == s.watermark && idle == s.idle {
		return nil
	}
	if wm > s.watermark {
		s.moved()
		if s.impl.OnWatermark != nil {
			if err := s.impl.OnWatermark(wm); err != nil {
				return s.locate(err)
			}
		}
	}
	s.watermark, s.idle = wm, idle
	s.metrics.Watermark.Store(wm)
	return s.handOn()
}

// handOn tells the steps after this one of its watermark.
func (s *stage) handOn() error {
	for _, n := range s.next {
		if err := n.stage.setWatermark(n.port, s.watermark, s.idle); err != nil {
			return err
		}
	}
	for _, x := range s.exchanges {
		if err := x.send(message{kind: watermark, watermark: s.watermark, idle: s.idle}); err != nil {
			return err
		}
	}
	return nil
}

// generate asks the stage's generator for the watermark.
func (s *stage) generate() error {
	if s.impl.Generator == nil || s.watermark == stream.MaxTime {
		return nil
	}
	wm, idle := s.impl.Generator.Watermark()
	return s.advance(max(wm, s.watermark), idle)
}

// stepError is an error with its place in the job. The place is added once, by the innermost step that knows it.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

func locate(kind, name string, err error) error {
	if err == nil {
		return nil
	}
	var at *stepError // after the check: it escapes, and this is the path of a record
	if errors.As(err, &at) {
		return err
	}
	return &stepError{step: kind + " " + name, err: err}
}

func (s *stage) locate(err error) error { return locate(s.node.role(), s.node.Name, err) }

func (n *Node) role() string {
	switch {
	case n.Source != nil:
		return "source"
	case n.Sink != nil:
		return "sink"
	}
	return "operator"
}
