package job_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/stream"
)

func TestAJobNamesTheFieldThatHasNoJSON(t *testing.T) {
	type signal struct {
		Name string
		Done chan bool `json:"done"`
	}
	g := job.New("signals")
	signals := job.From(g, "signals", in("signals"), job.JSON[signal](g))
	job.To(signals, "out", out("out"), job.JSONOut[signal](g))
	const want = `job signals: JSON[job_test.signal]: field "done": chan bool: JSON has nothing for it
job signals: JSONOut[job_test.signal]: field "done": chan bool: JSON has nothing for it`
	if err := g.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// clicked is what the works of bench/weir read and write.
type clicked struct {
	User   string  `json:"user"`
	Amount float64 `json:"amount"`
	TS     int64   `json:"ts"`
}

const clickedText = `{"user":"u0000017","page":"/p/4","ts":1795977600123,"amount":31.25,"country":"DE","ref":"9f3c9f3c9f3c9f3c80000000"}`

func TestARecordOfJSONAllocatesNothing(t *testing.T) {
	g := job.New("clicks")
	decode, encode := job.JSON[clicked](g), job.JSONOut[clicked](g)
	from, to := stream.Record{Value: []byte(clickedText)}, stream.Record{Value: make([]byte, 0, 256)}
	allocs := testing.AllocsPerRun(1000, func() {
		to.Value = to.Value[:0]
		v, err := decode(&from)
		if err == nil {
			err = encode(v, &to)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a record", allocs)
	}
	if want := `{"user":"u0000017","amount":31.25,"ts":1795977600123}`; string(to.Value) != want {
		t.Errorf("%s, want %s", to.Value, want)
	}
	if _, err := decode(&stream.Record{}); err == nil || err.Error() != "want JSON, got a null value (a tombstone)" {
		t.Errorf("a tombstone: %v", err)
	}
}

// Values lie in the stack while they are read and written, with parts that encoding/json handles: here while stacks grow and
// the collector runs.
func TestValuesOutliveGrowingStacksAndCollections(t *testing.T) {
	type rich struct {
		clicked
		M    map[string][]string
		X    any
		P    **string
		L    []*clicked
		At   time.Time
		Keep json.RawMessage
		Nr   int `json:",string"`
	}
	g := job.New("clicks")
	decode, encode := job.JSON[rich](g), job.JSONOut[*rich](g)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			var deeper func(n int) (rich, error)
			deeper = func(n int) (rich, error) {
				var room [128]byte
				if n == 0 {
					text := fmt.Sprintf(`{"user":"u%d","M":{"k":["a","b"]},"X":[{"y":[1]}],"P":"p","L":[{"ts":%d},null],"At":"2020-02-02T02:02:02Z","Keep":{"a":1},"Nr":"5"}`, worker, worker)
					return decode(&stream.Record{Value: []byte(text)})
				}
				v, err := deeper(n - 1)
				room[n%len(room)]++
				return v, err
			}
			for n := range 300 {
				v, err := deeper(n % 100)
				if err != nil {
					t.Error(err)
					return
				}
				garbage := strings.Repeat("x", 100_000)
				var to stream.Record
				if err := encode(&v, &to); err != nil {
					t.Error(err)
				}
				want := fmt.Sprintf(`{"user":"u%d","amount":0,"ts":0,"M":{"k":["a","b"]},"X":[{"y":[1]}],"P":"p","L":[{"user":"","amount":0,"ts":%d},null],"At":"2020-02-02T02:02:02Z","Keep":{"a":1},"Nr":"5"}`, worker, worker)
				if string(to.Value) != want || len(garbage) == 0 {
					t.Errorf("%s\nwant %s", to.Value, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkJSON(b *testing.B) {
	g := job.New("clicks")
	decode, encode := job.JSON[clicked](g), job.JSONOut[clicked](g)
	from, to := stream.Record{Value: []byte(clickedText)}, stream.Record{Value: make([]byte, 0, 256)}
	b.ReportAllocs()
	for b.Loop() {
		to.Value = to.Value[:0]
		v, err := decode(&from)
		if err == nil {
			err = encode(v, &to)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
