package main

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// The one that has the port would answer, and it would look as if this one had started.
func TestAPortInUseIsRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	if err := run([]string{"-port", fmt.Sprint(port)}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("port %d of 127.0.0.1 is in use", port)) {
		t.Errorf("got %v", err)
	}
	if err := run([]string{"19092"}); err == nil || !strings.Contains(err.Error(), "only flags") {
		t.Errorf("got %v", err)
	}
}
