package broker

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// StartNodes starts a cluster of n nodes, each of which is broker and controller, and returns when all of them answer. Topics
// have n replicas, Kafka's own among them, and need a majority of them in sync (min.insync.replicas). opts.Dir gets one
// folder for each node. The caller stops every node.
func StartNodes(ctx context.Context, opts Options, n int) ([]*Broker, error) {
	if opts.Port != 0 || opts.Data != "" {
		return nil, errors.New("a port and a data folder are for one node")
	}
	chosen, err := choosePorts(n)
	if err != nil {
		return nil, err
	}
	voters := make([]string, n)
	for i, p := range chosen {
		voters[i] = fmt.Sprintf("%d@127.0.0.1:%d", i+1, p.controller)
	}
	nodes := make([]*Broker, n)
	for i, p := range chosen {
		o := opts
		o.Dir = filepath.Join(opts.Dir, "node-"+strconv.Itoa(i+1))
		o.place = place{id: i + 1, nodes: n, voters: strings.Join(voters, ",")}
		o.EnsureDefaults()
		if err := os.Mkdir(o.Dir, 0o755); err != nil {
			return nil, err
		}
		if nodes[i], err = prepare(ctx, o, p); err != nil {
			return nil, err
		}
	}
	if err := nodes[0].format(ctx); err != nil {
		return nil, err
	}
	for _, b := range nodes[1:] {
		if err := b.formatAs(nodes[0]); err != nil {
			return nil, fmt.Errorf("format the storage of node %d: %w", b.ID(), err)
		}
	}
	var starts errgroup.Group
	for _, b := range nodes {
		starts.Go(func() error { return b.Restart(ctx) })
	}
	if err := starts.Wait(); err != nil {
		for _, b := range nodes {
			b.Kill()
		}
		return nil, err
	}
	return nodes, nil
}

// formatAs makes the node's storage out of that of another node that has never run: the same but for two lines. It saves
// a JVM.
func (b *Broker) formatAs(other *Broker) error {
	if err := os.CopyFS(b.opts.Data, os.DirFS(other.opts.Data)); err != nil {
		return err
	}
	file := filepath.Join(b.opts.Data, "meta.properties")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(renamed(string(text), b.opts.place.id, newDirectoryID())), 0o644)
}

var (
	nodeLine      = regexp.MustCompile(`(?m)^node\.id=.*$`)
	directoryLine = regexp.MustCompile(`(?m)^directory\.id=.*$`)
)

// renamed is a meta.properties of another node and directory.
func renamed(text string, node int, directory string) string {
	text = nodeLine.ReplaceAllLiteralString(text, "node.id="+strconv.Itoa(node))
	return directoryLine.ReplaceAllLiteralString(text, "directory.id="+directory)
}

// newDirectoryID is a random ID in Kafka's form; the versions that have none do not read it. IDs that begin with a dash
// are avoided, as Kafka does.
func newDirectoryID() string {
	for {
		var id [16]byte
		rand.Read(id[:])
		if s := base64.RawURLEncoding.EncodeToString(id[:]); s[0] != '-' {
			return s
		}
	}
}
