package proxy

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rewritten are the answers that hold addresses of brokers.
var rewritten = map[kmsg.Key]bool{
	kmsg.Produce: true, kmsg.Fetch: true, kmsg.Metadata: true, kmsg.FindCoordinator: true, kmsg.DescribeCluster: true,
	kmsg.ShareFetch: true, kmsg.ShareAcknowledge: true, kmsg.ApiVersions: true,
}

// rewrite puts the proxy's addresses in place of the brokers'. It returns the frame as it is where there is nothing to do.
func (p *Proxy) rewrite(key kmsg.Key, version int16, frame []byte) ([]byte, error) {
	if !rewritten[key] {
		return frame, nil
	}
	r, err := decodeAnswer(key, version, frame)
	if kmsg.Key(key) == kmsg.ApiVersions && err != nil {
		return frame, nil // a broker that does not know the version answers in another
	}
	if err != nil || r == nil {
		return frame, err
	}
	changed := false
	place := func(node int32, host *string, port *int32) {
		if err != nil || *host == "" || *port <= 0 || node < 0 {
			return // an error has no address
		}
		*host, *port, err = p.place(node, *host, *port)
		changed = true
	}
	switch r := r.(type) {
	case *kmsg.MetadataResponse:
		for i := range r.Brokers {
			b := &r.Brokers[i]
			place(b.NodeID, &b.Host, &b.Port)
		}
	case *kmsg.FindCoordinatorResponse:
		place(r.NodeID, &r.Host, &r.Port)
		for i := range r.Coordinators {
			c := &r.Coordinators[i]
			place(c.NodeID, &c.Host, &c.Port)
		}
	case *kmsg.DescribeClusterResponse:
		if r.EndpointType > 1 {
			break // controllers: their IDs may be brokers' too
		}
		for i := range r.Brokers {
			b := &r.Brokers[i]
			place(b.NodeID, &b.Host, &b.Port)
		}
	case *kmsg.ProduceResponse:
		for i := range r.Brokers {
			b := &r.Brokers[i]
			place(b.NodeID, &b.Host, &b.Port)
		}
	case *kmsg.FetchResponse:
		for i := range r.Brokers {
			b := &r.Brokers[i]
			place(b.NodeID, &b.Host, &b.Port)
		}
	case *kmsg.ShareFetchResponse:
		for i := range r.NodeEndpoints {
			b := &r.NodeEndpoints[i]
			place(b.NodeID, &b.Host, &b.Port)
		}
	case *kmsg.ShareAcknowledgeResponse:
		for i := range r.NodeEndpoints {
			b := &r.NodeEndpoints[i]
			place(b.NodeID, &b.Host, &b.Port)
		}
	case *kmsg.ApiVersionsResponse:
		changed = capVersions(r)
	}
	if err != nil || !changed {
		return frame, err
	}
	return encodeAnswer([4]byte(frame[4:8]), r), nil
}

// capVersions keeps clients from versions whose answers the proxy cannot read and has to.
func capVersions(r *kmsg.ApiVersionsResponse) (changed bool) {
	if r.ErrorCode == kerr.UnsupportedVersion.Code {
		return false
	}
	for i := range r.ApiKeys {
		k := &r.ApiKeys[i]
		if key := kmsg.Key(k.ApiKey); rewritten[key] && k.MaxVersion > key.Request().MaxVersion() {
			k.MaxVersion = key.Request().MaxVersion()
			changed = true
		}
	}
	return changed
}
