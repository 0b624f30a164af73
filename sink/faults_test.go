package sink

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// faultyNet loses one request, or the answer to it, on the way between a client and its brokers. Broken connections are
// what a broker in memory cannot show by itself.
type faultyNet struct {
	// keys are the requests that count.
	keys []int16
	// at is which of them is hit, from 0; afterwards tells that the broker still gets it, and only the answer is lost.
	at         int64
	afterwards bool
	seen       atomic.Int64
	hit        atomic.Bool
}

func (f *faultyNet) option() kgo.Opt {
	return kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &faultyConn{Conn: conn, net: f}, nil
	})
}

type faultyConn struct {
	net.Conn
	net *faultyNet
	mu  sync.Mutex
	// lost: what is read next is the end.
	lost bool
}

// Write sees one whole request: length, API key, ...
func (c *faultyConn) Write(b []byte) (int, error) {
	f := c.net
	if len(b) > 6 && slices.Contains(f.keys, int16(binary.BigEndian.Uint16(b[4:]))) && f.seen.Add(1)-1 == f.at {
		f.hit.Store(true)
		c.mu.Lock()
		c.lost = true
		c.mu.Unlock()
		if !f.afterwards {
			c.Conn.Close()
			return len(b), nil
		}
	}
	return c.Conn.Write(b)
}

// Read waits for the answer to a request whose answer is lost: the broker has then carried it out.
func (c *faultyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}
