package sink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafka"
)

// GroupCheckpoint is the latest checkpoint that the metadata of the group's offsets names, 0 if none does. It waits as
// GroupOffset does.
func (l *PointerLog) GroupCheckpoint(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	var backoff kafka.Backoff
	for {
		latest, err := l.groupMarks(ctx)
		if err == nil {
			return latest, nil
		}
		if !kafka.IsRetriable(err) && !errors.Is(err, kerr.UnstableOffsetCommit) || !backoff.Wait(ctx) {
			return 0, fmt.Errorf("group %s: %w", l.config.Group, err)
		}
	}
}

// MarkedCheckpoint returns the checkpoint that the metadata of a source's offset names; ok is false if somebody else committed
// that offset.
func MarkedCheckpoint(metadata string) (id int64, ok bool) {
	digits, ours := strings.CutPrefix(metadata, groupMark)
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, ours && err == nil
}

// groupMarks is the latest checkpoint in the metadata of all of the group's offsets, that of the checkpoint partition included.
func (l *PointerLog) groupMarks(ctx context.Context) (latest int64, err error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group, group.Topics = l.config.Group, nil // all
	req.Groups = append(req.Groups, group)
	resp, err := req.RequestWith(ctx, l.client)
	if err != nil {
		return 0, err
	}
	for _, g := range resp.Groups {
		err := kerr.ErrorForCode(g.ErrorCode)
		if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
			return 0, err
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return 0, err
				}
				if p.Metadata == nil {
					continue
				}
				if p.Partition == l.config.Partition && (t.Topic == l.config.Topic || t.TopicID == l.id && l.id != [16]byte{}) {
					if p.Offset < 0 {
						continue
					}
					id, err := strconv.ParseInt(*p.Metadata, 10, 64)
					if err != nil {
						return 0, fmt.Errorf("offset of topic %s: metadata %q is not a checkpoint ID", l.config.Topic, *p.Metadata)
					}
					latest = max(latest, id)
					continue
				}
				if id, ok := MarkedCheckpoint(*p.Metadata); ok {
					latest = max(latest, id)
				}
			}
		}
	}
	return latest, nil
}
