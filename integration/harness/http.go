package harness

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FreePort returns a port of 127.0.0.1 on which nothing listens.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Get fetches a page of a job's HTTP address: its status, 0 if nothing answers, and its text.
func Get(address, path string) (int, string) {
	client := http.Client{Timeout: 2 * time.Second}
	resp, err := client.Get("http://" + address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// Metric adds up the samples of one metric whose labels contain all that are given, such as `topic="in"`, and counts
// them.
func Metric(page, name string, labels ...string) (sum float64, samples int) {
	for lines := bufio.NewScanner(strings.NewReader(page)); lines.Scan(); {
		line := lines.Text()
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		space := strings.LastIndexByte(rest, ' ')
		matches := true
		for _, label := range labels {
			matches = matches && strings.Contains(rest[:space], label)
		}
		if value, err := strconv.ParseFloat(rest[space+1:], 64); err == nil && matches {
			sum, samples = sum+value, samples+1
		}
	}
	return sum, samples
}

// WaitReady waits until the job at the address says that it is ready.
func WaitReady(t testing.TB, address string, within time.Duration) {
	t.Helper()
	Until(t, within, "readiness of "+address, func() (bool, string) {
		status, body := Get(address, "/readyz")
		return status == http.StatusOK, fmt.Sprint(status, " ", strings.TrimSpace(body))
	})
}
