package runtime

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weirstream/weir/stream"
)

// clockwork is a stage with n ports that writes down the watermarks it hears of.
func clockwork(ports int) (*stage, *[]string) {
	var heard []string
	s := &stage{node: &Node{Name: "s"}, watermark: stream.MinTime, metrics: &StepMetrics{}, moved: func() {}}
	for range ports {
		s.ports = append(s.ports, portTime{watermark: stream.MinTime})
	}
	s.impl = &Stage{OnWatermark: func(wm int64) error {
		heard = append(heard, fmt.Sprint(wm))
		return nil
	}}
	return s, &heard
}

func TestWatermarkIsTheLeastOverThePortsThatAreNotIdle(t *testing.T) {
	s, heard := clockwork(3)
	for _, step := range []struct {
		port int
		wm   int64
		idle bool
	}{
		{0, 10, false}, {1, 20, false}, // port 2 has said nothing: no time yet
		{2, stream.MinTime, true},  // 10: port 2 does not count
		{0, 30, false},             // 20
		{1, 20, true},              // 30
		{2, 5, false},              // it comes back with less: time does not go back
		{0, 40, true},              // only port 2 counts
		{2, 35, false},             // 35
		{2, 35, true},              // 40: nobody holds time back
		{0, stream.MaxTime, false}, // the end
	} {
		if err := s.setWatermark(step.port, step.wm, step.idle); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"10", "20", "30", "35", "40", fmt.Sprint(stream.MaxTime)}
	if !slices.Equal(*heard, want) {
		t.Errorf("heard %v, want %v", *heard, want)
	}
}

// What was late before a restart is late after it: ports begin at the restored watermark.
func TestRestoredWatermarkIsHeardBeforeAnythingElse(t *testing.T) {
	s, heard := clockwork(2)
	s.watermark = 100
	c := &chain{stages: []*stage{s}}
	if err := c.resume(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(*heard, []string{"100"}) {
		t.Errorf("heard %v", *heard)
	}
}
