package operators_test

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/operators/operatortest"
)

func ExampleEventTime() {
	type View struct{ At time.Time }
	h := operatortest.New(nil, operators.EventTime(func(v View) time.Time { return v.At }, 5*time.Second))
	h.Process("", View{time.UnixMilli(60_000)}, 0)
	fmt.Println("timestamp", h.Output()[0].Timestamp)
	watermark, _ := h.Generator().Watermark()
	fmt.Println("watermark", watermark)
	// Output:
	// timestamp 60000
	// watermark 54999
}
