// Package clicks is the input of examples/clicks.yaml, pages that users see, the same for the same seed, and what the
// example makes of it. The commands generate and demo share it.
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
	User string
	Page string
	// Amount is a multiple of 0.25, so that sums of it are exact and can be compared as such.
	Amount float64
	// Click is whether the user clicked on something there. The example takes every event; the job in README.md does not.
	Click bool
}

// Source makes events.
type Source struct {
	Seed  uint64
	Users int
}

var pages = []string{"/", "/search", "/cart", "/checkout", "/p/anvil", "/p/rope", "/p/magnet", "/p/rocket"}

// At makes the i-th event. A few users do most of what happens, as it is.
func (s Source) At(i int64) Event {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(i)))
	u := rng.Float64()
	return Event{
		User:   fmt.Sprintf("u%04d", int(u*u*float64(s.Users))),
		Page:   pages[rng.IntN(len(pages))],
		Amount: float64(1+rng.IntN(400)) / 4,
		Click:  rng.IntN(4) == 0,
	}
}

// JSON is the event as the example reads it; ts is when it happened, in milliseconds since the Unix epoch.
func (e Event) JSON(ts int64) []byte {
	b := make([]byte, 0, 112)
	b = append(append(b, `{"user":"`...), e.User...)
	b = append(append(b, `","page":"`...), e.Page...)
	b = strconv.AppendFloat(append(b, `","amount":`...), e.Amount, 'f', -1, 64)
	b = strconv.AppendBool(append(b, `,"click":`...), e.Click)
	b = strconv.AppendInt(append(b, `,"ts":`...), ts, 10)
	return append(b, '}')
}
