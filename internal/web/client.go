package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/weirstream/weir/internal/runtime"
)

// Client asks a running job at its HTTP address. Deadlines are the context's.
type Client struct {
	// Address is the job's host:port.
	Address string
	// Token is sent with what triggers something; empty for none.
	Token string
}

// ConnectError says that nothing answers at a job's HTTP address.
type ConnectError struct {
	Address string
	Err     error
}

func (e *ConnectError) Error() string {
	return fmt.Sprintf("no job answers at http://%s (%v): does it run, and is --address the one it listens on?", e.Address, e.Err)
}

func (e *ConnectError) Unwrap() error { return e.Err }

// RefusedError is an answer of a job that is not a success.
type RefusedError struct {
	Code   int
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

// Status asks what the job does.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var st Status
	err := c.do(ctx, http.MethodGet, "/api/v1/status", nil, &st)
	return st, err
}

// Health asks /healthz; nil means healthy.
func (c *Client) Health(ctx context.Context) error {
	return c.do(ctx, http.MethodGet, "/healthz", nil, nil)
}

// Savepoint takes a savepoint and returns when it is whole.
func (c *Client) Savepoint(ctx context.Context, dir string) error {
	return c.do(ctx, http.MethodPost, "/api/v1/savepoints", SavepointRequest{dir}, nil)
}

// Stop asks the job for a last checkpoint, and what else the request says. It does not wait: see [Client.StopStatus].
func (c *Client) Stop(ctx context.Context, r runtime.StopRequest) (runtime.StopStatus, error) {
	var st runtime.StopStatus
	err := c.do(ctx, http.MethodPost, "/api/v1/stop", r, &st)
	return st, err
}

// StopStatus waits for the outcome of the latest request to stop, at most for the given time, and returns its status; nil if
// the job was not asked.
func (c *Client) StopStatus(ctx context.Context, wait time.Duration) (*runtime.StopStatus, error) {
	var a StopAnswer
	err := c.do(ctx, http.MethodGet, "/api/v1/stop?wait="+wait.String(), nil, &a)
	return a.Stop, err
}

func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+Reachable(c.Address)+path, body)
	if err != nil {
		return err
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return &ConnectError{c.Address, cause(err)}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return &ConnectError{c.Address, err}
	}
	if resp.StatusCode >= 300 {
		var p Problem
		if json.Unmarshal(text, &p) != nil || p.Error == "" {
			p.Error = strings.TrimSpace(resp.Status + " " + string(text))
		}
		return &RefusedError{resp.StatusCode, p.Error}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("http://%s%s: not the answer of a job: %w", c.Address, path, err)
	}
	return nil
}

// cause is the last part of a chain of network errors, which is all that a person needs.
func cause(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok || u.Unwrap() == nil {
			return err
		}
		err = u.Unwrap()
	}
}
