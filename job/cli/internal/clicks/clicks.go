// Package clicks is the input of examples/clicks.yaml: views and clicks of users on a shop's pages, the same for the same
// seed, and what the example makes of them. The commands generate and demo share it.
package clicks

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Topics of the example.
const (
	In  = "views"
	Out = "clicks-per-user"
)

// Event is one record of the input.
type Event struct {
	User   string
	Page   string
	Action string // "view" or "click"
	Cents  int64
}

// Source makes events.
type Source struct {
	Seed  uint64
	Users int
}

var pages = []string{"/", "/search", "/cart", "/checkout", "/item/anvil", "/item/rope", "/item/magnet", "/item/rocket"}

// At makes the i-th event. A few users do most of what happens, as it is.
func (s Source) At(i int64) Event {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(i)))
	u := rng.Float64()
	e := Event{
		User:   fmt.Sprintf("u%04d", int(u*u*float64(s.Users))),
		Page:   pages[rng.IntN(len(pages))],
		Action: "view",
	}
	if rng.IntN(10) < 7 {
		e.Action, e.Cents = "click", 1+rng.Int64N(9999)
	}
	return e
}

// JSON is the event as the example reads it; ts is when it happened, in milliseconds since the Unix epoch.
func (e Event) JSON(ts int64) []byte {
	b := make([]byte, 0, 96)
	b = append(append(b, `{"user":"`...), e.User...)
	b = append(append(b, `","page":"`...), e.Page...)
	b = append(append(b, `","action":"`...), e.Action...)
	b = strconv.AppendInt(append(b, `","cents":`...), e.Cents, 10)
	b = strconv.AppendInt(append(b, `,"ts":`...), ts, 10)
	return append(b, '}')
}
