package web

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListeningElsewhereNeedsAToken(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    string // part of the error; empty for none
	}{
		{Options{}, ""},
		{Options{Address: "off"}, ""},
		{Options{Address: "0"}, ""},
		{Options{Address: "127.0.0.1:8080"}, ""},
		{Options{Address: "127.0.0.53:8080"}, ""},
		{Options{Address: "[::1]:8080"}, ""},
		{Options{Address: "localhost:8080"}, ""},
		{Options{Address: "0.0.0.0:8080"}, "set token or token_file"},
		{Options{Address: ":8080"}, "set token or token_file"},
		{Options{Address: "[::]:8080"}, "set token or token_file"},
		{Options{Address: "192.168.1.7:8080"}, "set token or token_file"},
		{Options{Address: "localhost.example.com:8080"}, "set token or token_file"},
		{Options{Address: "0.0.0.0:8080", Token: "s"}, ""},
		{Options{Address: "0.0.0.0:8080", TokenFile: "f"}, ""},
		{Options{Address: "127.0.0.1:8080", Token: "s", TokenFile: "f"}, "both"},
		{Options{Address: "127.0.0.1"}, "neither host:port"},
		{Options{Address: "127.0.0.1:70000"}, "neither host:port"},
	} {
		o := c.options
		o.EnsureDefaults()
		err := o.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.options, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: more than one line: %v", c.options, err)
		}
	}
}

func TestTokenFileIsReadWithoutItsLineEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for content, want := range map[string]string{"secret\n": "secret", "secret \r\n": "secret", "\n": ""} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := (&Options{TokenFile: path}).Secret()
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
}

func TestPortInUseIsAnErrorThatNamesTheAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = Listen(t.Context(), Options{Address: l.Addr().String()})
	var le *ListenError
	if !errors.As(err, &le) || !strings.Contains(err.Error(), l.Addr().String()) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%v", err)
	}
}

func TestReachableTurnsEveryInterfaceIntoThisMachine(t *testing.T) {
	for in, want := range map[string]string{
		"0.0.0.0:8080": "127.0.0.1:8080", ":8080": "127.0.0.1:8080", "[::]:1": "[::1]:1", "10.0.0.1:5": "10.0.0.1:5", "host:7": "host:7",
	} {
		if got := Reachable(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
