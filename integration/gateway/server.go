package gateway

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

// The keys of the server's owner.
const (
	AccessKey = "weir-owner"
	SecretKey = "weir-owner-secret-key"
)

// Server is a running S3 server with one bucket, "weir". It ends with its test.
type Server struct {
	*harness.Process
	// Address is HOST:PORT; it stays the same after a restart.
	Address string
	// Bucket is the directory that has the bucket's objects.
	Bucket string

	program harness.Program
}

// Start starts a server with an empty bucket.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := Build(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &Server{Address: fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t)), Bucket: filepath.Join(dir, "data", "weir")}
	users, attributes := filepath.Join(dir, "users"), filepath.Join(dir, "attributes")
	for _, d := range []string{s.Bucket, users, attributes} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.program = harness.Program{
		Path: program,
		Args: []string{
			"--port", s.Address, "--access", AccessKey, "--secret", SecretKey, "--quiet", "--iam-dir", users,
			"posix", "--sidecar", attributes, filepath.Dir(s.Bucket), // not every file system keeps attributes
		},
		Dir: dir,
	}
	s.Restart(t)
	return s
}

// Restart starts the server again after [harness.Process.Kill], with what it has.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Process = s.program.Start(t)
	harness.Until(t, 20*time.Second, "the S3 server", func() (bool, string) {
		if !s.Running() {
			t.Fatalf("the S3 server ended:\n%s", s.Output())
		}
		conn, err := net.DialTimeout("tcp", s.Address, time.Second)
		if err != nil {
			return false, err.Error()
		}
		return conn.Close() == nil, ""
	})
}

// Location is the URL of a path in the bucket.
func (s *Server) Location(path string) string { return s.LocationIn("weir", path) }

// LocationIn is the URL of a path in a bucket, whether or not there is one.
func (s *Server) LocationIn(bucket, path string) string {
	return "s3://" + bucket + "/" + path + "?region=us-east-1&use_path_style=true&endpoint=" + url.QueryEscape("http://"+s.Address)
}

// Keys are the environment of a process with the owner's keys.
func Keys() []string { return KeysOf(AccessKey, SecretKey) }

// KeysOf are the environment of a process with these keys, and with none from elsewhere.
func KeysOf(access, secret string) []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret, "AWS_SESSION_TOKEN=",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=none", "AWS_SHARED_CREDENTIALS_FILE=none",
	}
}

// AddUser makes a user who may do nothing in the bucket.
func (s *Server) AddUser(t testing.TB, access, secret string) {
	t.Helper()
	p := harness.Program{Path: s.program.Path, Args: []string{
		"admin", "--access", AccessKey, "--secret", SecretKey, "--endpoint-url", "http://" + s.Address,
		"create-user", "--access", access, "--secret", secret, "--role", "user",
	}}.Start(t)
	if code := p.Exit(20 * time.Second); code != 0 {
		t.Fatalf("versitygw admin create-user: exit code %d:\n%s", code, p.Output())
	}
}
