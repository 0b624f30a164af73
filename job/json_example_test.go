package job_test

import (
	"fmt"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// Order has the names of its fields in its tags, as for encoding/json.
type Order struct {
	Customer string `json:"customer"`
	Cents    int64  `json:"cents"`
	Note     string `json:"note,omitempty"`
}

// JSON comes in and goes out: the job keeps the large orders, and of each the fields that Order names.
func ExampleJSON() {
	brokers, finish := kafkaOf(map[string][]string{
		"orders": {
			`{"customer":"ann","cents":1250,"currency":"EUR","items":[{"id":1}]}`,
			`{"customer":"bob","cents":99000,"currency":"EUR","note":"ring <twice>"}`,
		},
		"large": nil,
	})
	defer finish()

	g := job.New("large-orders")
	orders := job.From(g, "orders", in("orders"), job.JSON[Order](g))
	large := job.Via(orders, "large-ones", operators.Filter(func(o Order) bool { return o.Cents > 10_000 }))
	job.To(large, "large", out("large"), job.JSONOut[Order](g))
	runExample(g, brokers)
	printTopic(brokers, "large", 1)

	// Output:
	//  {"customer":"bob","cents":99000,"note":"ring <twice>"}
}

// A record that does not fit is a bad record (OnBadRecord); its error names the field and the byte.
func ExampleJSON_badRecord() {
	decode := job.JSON[Order](job.New("orders"))
	for _, value := range []string{`{"customer":"ann","cents":"12.50"}`, `{"customer":"ann",}`} {
		_, err := decode(&stream.Record{Value: []byte(value)})
		fmt.Println(err)
	}

	// Output:
	// field "cents": want int64, got "12.50" at byte 26
	// not JSON: unexpected '}' at byte 18
}
