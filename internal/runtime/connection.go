package runtime

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// silence is how long kgo waits for an answer before it gives a connection up, if it is not told otherwise.
const silence = 10 * time.Second

// giveUpSilent makes a client give up a connection without answers in half the time that a call may take at most. kgo
// does not close it when a call's time is over, and later calls queue behind the answer that does not come: with less than
// that a call could never try another connection, nor could sink.Taken ask after a commit was left without an answer.
func giveUpSilent(requestTimeout time.Duration) []kgo.Opt {
	if requestTimeout <= 0 || requestTimeout/2 >= silence {
		return nil
	}
	return []kgo.Opt{kgo.RequestTimeoutOverhead(max(requestTimeout/2, 100*time.Millisecond))}
}
