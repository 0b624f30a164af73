package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The SASL mechanisms that a [SASL] may name.
const (
	Plain       = "plain"
	ScramSHA256 = "scram-sha-256"
	ScramSHA512 = "scram-sha-512"
	OAuthBearer = "oauthbearer"
)

// Mechanisms lists the SASL mechanisms.
var Mechanisms = []string{Plain, ScramSHA256, ScramSHA512, OAuthBearer}

// Config says how to reach a Kafka cluster.
type Config struct {
	// Brokers are the addresses to begin with, host:port; one that answers is enough. Without a port, 9092 is meant.
	Brokers []string `yaml:"brokers"`
	// TLS encrypts the connections.
	TLS TLS `yaml:"tls"`
	// SASL says who the job is.
	SASL SASL `yaml:"sasl"`
	// ClientID is the name that brokers see in their logs and quotas. Default: weir.
	ClientID string `yaml:"client_id"`
	// DialTimeout is how long opening one connection may take, TLS handshake included. Default: 3s.
	DialTimeout time.Duration `yaml:"dial_timeout"`
	// StartTimeout is how long the first contact may take: name lookup, connection, authentication and an answer. Default: 5s.
	StartTimeout time.Duration `yaml:"start_timeout"`
	// Dialer, if set, opens every connection, below TLS: for tests, and for programs that go through a proxy.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error) `yaml:"-" json:"-"`
}

// TLS are the settings of encrypted connections.
type TLS struct {
	// Enabled turns TLS on. Naming any of the files turns it on as well.
	Enabled bool `yaml:"enabled"`
	// CAFile holds the certificates (PEM) that sign the brokers'. Default: those of the system.
	CAFile string `yaml:"ca_file"`
	// CertFile and KeyFile hold the job's own certificate and key (PEM), for brokers that ask for one (mutual TLS).
	CertFile string `yaml:"cert_file"`
	// KeyFile is the key of CertFile.
	KeyFile string `yaml:"key_file"`
	// ServerName is the name that the brokers' certificates must bear. Default: the host of the address.
	ServerName string `yaml:"server_name"`
	// InsecureSkipVerify accepts any certificate: for tests only.
	InsecureSkipVerify bool `yaml:"insecure_skip_verify"`
}

// SASL are the settings of authentication. Files are read at each authentication, so a rotated secret is picked up.
type SASL struct {
	// Mechanism is plain, scram-sha-256, scram-sha-512 or oauthbearer; empty for no SASL.
	Mechanism string `yaml:"mechanism"`
	// Username is who to be, for plain and scram.
	Username string `yaml:"username"`
	// Password is the password of Username, for plain and scram; better in a file or ${VARIABLE}.
	Password Secret `yaml:"password"`
	// PasswordFile holds the password; white space at the end is ignored.
	PasswordFile string `yaml:"password_file"`
	// Token is the token of oauthbearer.
	Token Secret `yaml:"token"`
	// TokenFile holds the token of oauthbearer; white space at the end is ignored.
	TokenFile string `yaml:"token_file"`
}

// EnsureDefaults sets what was left empty.
func (c *Config) EnsureDefaults() {
	for i, b := range c.Brokers {
		c.Brokers[i] = withPort(strings.TrimSpace(b))
	}
	if c.TLS.CAFile != "" || c.TLS.CertFile != "" || c.TLS.KeyFile != "" {
		c.TLS.Enabled = true
	}
	c.SASL.Mechanism = strings.ToLower(c.SASL.Mechanism)
	if c.ClientID == "" {
		c.ClientID = "weir"
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = 3 * time.Second
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = 5 * time.Second
	}
}

func withPort(addr string) string {
	if _, _, err := net.SplitHostPort(addr); err == nil || addr == "" || strings.Contains(addr, "/") {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), "9092")
}

// Validate reports every mistake, joined. It touches neither files nor the network.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Brokers) == 0 {
		bad("brokers: none given: at least one host:port is needed")
	}
	for _, b := range c.Brokers {
		host, port, err := net.SplitHostPort(withPort(b))
		if n, perr := strconv.Atoi(port); err != nil || host == "" || strings.ContainsAny(host, "/ ") || perr != nil || n < 1 || n > 65535 {
			bad("brokers: %q is not host:port", b)
		}
	}
	if (c.TLS.CertFile == "") != (c.TLS.KeyFile == "") {
		bad("tls: cert_file and key_file go together")
	}
	if on := c.TLS.Enabled || c.TLS.CAFile != "" || c.TLS.CertFile != "" || c.TLS.KeyFile != ""; !on && (c.TLS.ServerName != "" || c.TLS.InsecureSkipVerify) {
		bad("tls: server_name and insecure_skip_verify say how to use TLS, and it is not turned on: say enabled: true")
	}
	if c.DialTimeout < 0 {
		bad("dial_timeout: %s is negative", c.DialTimeout)
	}
	if c.StartTimeout < 0 {
		bad("start_timeout: %s is negative", c.StartTimeout)
	}
	c.SASL.validate(bad)
	return errors.Join(errs...)
}

func (s *SASL) validate(bad func(string, ...any)) {
	mechanism := strings.ToLower(s.Mechanism)
	password := s.Password != "" || s.PasswordFile != ""
	token := s.Token != "" || s.TokenFile != ""
	switch {
	case mechanism == "":
		if s.Username != "" || password || token {
			bad("sasl: mechanism is missing: one of %s", strings.Join(Mechanisms, ", "))
		}
		return
	case !slices.Contains(Mechanisms, mechanism):
		bad("sasl: mechanism %q is unknown: one of %s", s.Mechanism, strings.Join(Mechanisms, ", "))
		return
	}
	if s.Password != "" && s.PasswordFile != "" {
		bad("sasl: password and password_file are both given")
	}
	if s.Token != "" && s.TokenFile != "" {
		bad("sasl: token and token_file are both given")
	}
	if mechanism == OAuthBearer {
		if !token {
			bad("sasl: %s needs token or token_file", mechanism)
		}
		return
	}
	if s.Username == "" {
		bad("sasl: %s needs username", mechanism)
	}
	if !password {
		bad("sasl: %s needs password or password_file", mechanism)
	}
}

// String names the cluster as messages do, without secrets.
func (c Config) String() string {
	s := strings.Join(c.Brokers, ",")
	if c.TLS.Enabled {
		s += " tls"
	}
	if c.SASL.Mechanism != "" {
		s += " sasl " + c.SASL.Mechanism
		if c.SASL.Username != "" {
			s += " as " + c.SASL.Username
		}
	}
	return s
}

// LogValue is what a log shows of the settings.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }
