package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ID returns the cluster's ID, "" if the brokers do not say. It stays the same for the life of a cluster.
func (c *Cluster) ID(ctx context.Context) (string, error) {
	ctx, cancel := WithDeadline(ctx, callTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return "", fmt.Errorf("asking for the cluster's ID: %w", err)
	}
	if resp.ClusterID == nil {
		return "", nil
	}
	return *resp.ClusterID, nil
}
