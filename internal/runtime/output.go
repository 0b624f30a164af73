package runtime

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
)

// outputLag is how much of a partition that the job writes no read_committed reader sees yet.
type outputLag struct {
	topic     string
	partition int32
	records   int64
}

// lookAtOutput looks, as often as the cleaner cleans, at what the job has written: how much of it readers do not see, whoever
// keeps it from them, and whether a transaction of the job's own was ended without its marker. That ends the attempt: the
// recovery writes the marker.
func (a *attempt) lookAtOutput(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, cleanEvery/2)
	defer cancel()
	topics := a.outputTopics()
	if len(topics) > 0 {
		a.lags(bounded, topics)
	}
	return a.tx.Unsettled(bounded, topics)
}

// lags keeps the lags for whoever asks. What cannot be asked now is asked the next time.
func (a *attempt) lags(ctx context.Context, topics []string) {
	admin := kadm.NewClient(a.client)
	stable, err := admin.ListCommittedOffsets(ctx, topics...)
	if err != nil {
		return
	}
	ends, err := admin.ListEndOffsets(ctx, topics...)
	if err != nil {
		return
	}
	var lags []outputLag
	ends.Each(func(end kadm.ListedOffset) {
		if s, ok := stable.Lookup(end.Topic, end.Partition); ok && s.Err == nil && end.Err == nil {
			lags = append(lags, outputLag{end.Topic, end.Partition, max(0, end.Offset-s.Offset)})
		}
	})
	a.outputLags.Store(&lags)
}

// EachOutput tells of every partition that the job writes, as of the last look, how many records (markers and aborted ones
// included) lie behind the first that is not decided.
func (j *Job) EachOutput(fn func(topic string, partition int32, records int64)) {
	a := j.current.Load()
	if a == nil {
		return
	}
	if lags := a.outputLags.Load(); lags != nil {
		for _, l := range *lags {
			fn(l.topic, l.partition, l.records)
		}
	}
}
