package jobtest

import (
	"context"
	"errors"
	"net"
	"sync"
)

var errCut = errors.New("the network is cut")

// network is all connections of one run: as a process has its own.
type network struct {
	mu    sync.Mutex
	conns map[*conn]bool
	gone  bool
}

// dial opens a connection, unless the network is cut.
func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, kind, address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone {
		_ = c.Close()
		return nil, errCut
	}
	if n.conns == nil {
		n.conns = map[*conn]bool{}
	}
	t := &conn{c, n}
	n.conns[t] = true
	return t, nil
}

// disconnect closes every connection. With forever, there are no new ones.
func (n *network) disconnect(forever bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone = n.gone || forever
	for c := range n.conns {
		_ = c.Conn.Close()
	}
	clear(n.conns)
}

// conn is a connection that its network knows of.
type conn struct {
	net.Conn
	of *network
}

func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
