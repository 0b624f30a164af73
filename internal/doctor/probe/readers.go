package probe

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/internal/doctor"
)

// mostGroups bounds of how many groups the offsets are looked at.
const mostGroups = 500

// checkReaders finds the groups that have offsets in the topics that the job writes. Brokers list only groups that we may
// describe.
func (e *examination) checkReaders(ctx context.Context) []doctor.Finding {
	c := e.home
	var topics []string
	for _, u := range c.uses {
		if u.sink && !slices.Contains(topics, u.topic) {
			topics = append(topics, u.topic)
		}
	}
	admin := kadm.NewClient(c.client)
	listed, err := admin.ListGroups(ctx)
	names := slices.DeleteFunc(listed.Groups(), func(g string) bool { return g == e.config.Checkpoint.GroupID(e.config.Job) })
	readers := map[string][]string{}
	if err == nil {
		names = names[:min(len(names), mostGroups)]
		slices.Sort(names)
		for _, r := range admin.FetchManyOffsets(ctx, names...) {
			for _, t := range topics {
				if len(r.Fetched[t]) > 0 && !slices.Contains(readers[t], r.Group) {
					readers[t] = append(readers[t], r.Group)
				}
			}
		}
	}
	var findings []doctor.Finding
	for _, t := range topics {
		slices.Sort(readers[t])
		findings = append(findings, doctor.Readers(t, readers[t], err)...)
	}
	return findings
}
