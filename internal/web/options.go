package web

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/weirstream/weir/internal/kafka"
)

// DefaultAddress is where a job listens that says nothing.
const DefaultAddress = "127.0.0.1:8080"

// Off is the address of a job that listens nowhere.
const Off = "off"

// Options say where a job's metrics, health and commands can be reached.
type Options struct {
	// Address is host:port to listen on; port 0 takes any free one, which the log names. "off" listens nowhere. Listening
	// on anything but this machine's own address (127.0.0.1, ::1, localhost) needs a token. Default 127.0.0.1:8080.
	Address string `yaml:"address"`
	// Token is what a request that triggers something (a savepoint, a stop) must carry: "Authorization: Bearer TOKEN".
	// Better in a file or ${VARIABLE}.
	Token kafka.Secret `yaml:"token"`
	// TokenFile holds the token; white space at the end is ignored. It is read at the start.
	TokenFile string `yaml:"token_file"`
}

// EnsureDefaults sets what was left empty.
func (o *Options) EnsureDefaults() {
	switch o.Address {
	case "":
		o.Address = DefaultAddress
	case "0":
		o.Address = Off
	}
}

// Enabled reports whether the job listens at all.
func (o *Options) Enabled() bool { return o.Address != Off }

// Validate reports every mistake, joined. It touches neither files nor the network.
func (o *Options) Validate() error {
	if !o.Enabled() {
		return nil
	}
	var errs []error
	host, port, err := net.SplitHostPort(o.Address)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
		errs = append(errs, fmt.Errorf(`address: %q is neither host:port nor "off"`, o.Address))
	} else if !isLoopback(host) && o.Token == "" && o.TokenFile == "" {
		errs = append(errs, fmt.Errorf("address: %s can be reached from other machines, which could then stop the job: set token or token_file, or listen on 127.0.0.1", o.Address))
	}
	if o.Token != "" && o.TokenFile != "" {
		errs = append(errs, errors.New("token and token_file are both given"))
	}
	return errors.Join(errs...)
}

// Secret returns the token, read from its file if it is in one; empty if there is none.
func (o *Options) Secret() (string, error) {
	if o.TokenFile == "" {
		return string(o.Token), nil
	}
	b, err := os.ReadFile(o.TokenFile)
	if err != nil {
		return "", fmt.Errorf("token_file: %w", err)
	}
	token := strings.TrimRight(string(b), " \t\r\n")
	if token == "" {
		return "", fmt.Errorf("token_file: %s is empty", o.TokenFile)
	}
	return token, nil
}

// isLoopback reports whether a host names this machine and nothing else. An empty host means every interface; a name other
// than localhost may mean anything.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Reachable turns an address to listen on into one to connect to from the same machine: every interface becomes the
// loopback one.
func Reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}
