package operators_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
	"github.com/weirstream/weir/stream"
)

// model is what windows are meant to do, as plainly as can be: a list of windows that is walked for everything.
type model struct {
	size, slide, lateness, watermark int64
	session                          bool
	windows                          []modelWindow
	out                              []string
}

type modelWindow struct {
	key        string
	start, end int64
	count      int64
}

func (m *model) emit(w modelWindow) {
	m.out = append(m.out, fmt.Sprintf("%s@%d {Key:%s Start:%d End:%d Count:%d}", w.key, w.end-1, w.key, w.start, w.end, w.count))
}

func (m *model) event(key string, ts int64) {
	var own []modelWindow
	if m.session {
		own = append(own, modelWindow{key, ts, ts + m.size, 1})
	} else {
		for start := ts - ts%m.slide + m.slide; start > ts-m.size; start -= m.slide {
			if start <= ts {
				own = append(own, modelWindow{key, start, start + m.size, 1})
			}
		}
	}
	taken := false
	for _, w := range own {
		m.windows = slices.DeleteFunc(m.windows, func(o modelWindow) bool {
			same := o.key == key && (o.start == w.start && o.end == w.end || m.session && o.start <= w.end && o.end >= w.start)
			if same {
				w = modelWindow{key, min(o.start, w.start), max(o.end, w.end), o.count + w.count}
			}
			return same
		})
		if w.end-1+m.lateness <= m.watermark {
			continue
		}
		taken = true
		m.windows = append(m.windows, w)
		if w.end-1 <= m.watermark {
			m.emit(w)
		}
	}
	if !taken {
		m.out = append(m.out, "late")
	}
}

func (m *model) advance(watermark int64) {
	before := m.watermark
	m.watermark = watermark
	slices.SortFunc(m.windows, func(a, b modelWindow) int {
		if a.end != b.end {
			return int(a.end - b.end)
		}
		return strings.Compare(a.key, b.key)
	})
	for _, w := range m.windows {
		if w.end-1 > before && w.end-1 <= watermark {
			m.emit(w)
		}
	}
	m.windows = slices.DeleteFunc(m.windows, func(w modelWindow) bool {
		return watermark == stream.MaxTime || w.end-1+m.lateness <= watermark
	})
}

func TestWindowsDoAsThePlainModel(t *testing.T) {
	ms := time.Millisecond
	for name, c := range map[string]struct {
		windows operators.Assigner
		model   model
	}{
		"tumbling": {operators.Tumbling(10 * ms), model{size: 10, slide: 10}},
		"hopping":  {operators.Hopping(10*ms, 4*ms), model{size: 10, slide: 4}},
		"session":  {operators.Session(10 * ms), model{size: 10, session: true}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(50) {
				rnd := rand.New(rand.NewPCG(seed, 0))
				lateness := rnd.Int64N(3) * 15
				m := c.model
				m.lateness, m.watermark = lateness, stream.MinTime
				spec := operators.WindowCount(c.windows, operators.WindowOptions[int]{AllowedLateness: time.Duration(lateness) * ms})
				h := operatortest.New(t, spec)
				now := int64(1000)
				for range 200 {
					switch rnd.IntN(10) {
					case 0:
						now += rnd.Int64N(12)
						h.Watermark(now)
						m.advance(max(now, m.watermark))
					case 1:
						h = operatortest.Restore(t, spec, h.Snapshot())
					default:
						key, ts := string(rune('a'+rnd.IntN(3))), now+rnd.Int64N(80)-40
						h.Process(key, 0, ts)
						m.event(key, ts)
					}
					if got := h.Log(); !slices.Equal(got, m.out) {
						t.Fatalf("seed %d, lateness %d, watermark %d:\n\t%s\nwant\n\t%s", seed, lateness, m.watermark, strings.Join(got, "\n\t"), strings.Join(m.out, "\n\t"))
					}
					m.out = nil
				}
				h.Watermark(stream.MaxTime)
				m.advance(stream.MaxTime)
				if got := h.Log(); !slices.Equal(got, m.out) || h.Entries() != 0 {
					t.Fatalf("seed %d: at the end, with %d entries left:\n\t%s\nwant\n\t%s", seed, h.Entries(), strings.Join(got, "\n\t"), strings.Join(m.out, "\n\t"))
				}
			}
		})
	}
}
