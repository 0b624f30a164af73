package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Options turns the settings into options of a client. It reads the TLS files, and checks that the files with secrets can
// be read. Defaults are applied to a copy.
func (c Config) Options() ([]kgo.Opt, error) {
	c.Brokers = append([]string(nil), c.Brokers...)
	c.EnsureDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...),
		kgo.ClientID(c.ClientID),
		kgo.SoftwareNameAndVersion("weir", "1"),
		kgo.DisableClientMetrics(),
	}
	dial := (&net.Dialer{Timeout: c.DialTimeout}).DialContext
	if c.Dialer != nil {
		dial = c.Dialer
	}
	if c.TLS.Enabled {
		config, err := c.TLS.config()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			own := config.Clone()
			if own.ServerName == "" {
				host, _, err := net.SplitHostPort(addr)
				if err != nil {
					return nil, err
				}
				own.ServerName = host
			}
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			secure := tls.Client(conn, own)
			ctx, cancel := context.WithTimeout(ctx, c.DialTimeout)
			defer cancel()
			if err := secure.HandshakeContext(ctx); err != nil {
				_ = conn.Close() // the handshake's error is the one to tell
				return nil, err
			}
			return secure, nil
		}))
	} else {
		opts = append(opts, kgo.Dialer(dial))
	}
	mechanism, err := c.SASL.mechanism()
	if err != nil {
		return nil, err
	}
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, nil
}

func (t TLS) config() (*tls.Config, error) {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         t.ServerName,
		InsecureSkipVerify: t.InsecureSkipVerify,
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls: ca_file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls: ca_file: %s holds no certificate in PEM form", t.CAFile)
		}
	}
	if t.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("tls: cert_file %s, key_file %s: %w", t.CertFile, t.KeyFile, err)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return config, nil
}

func (s SASL) mechanism() (sasl.Mechanism, error) {
	if s.Mechanism == "" {
		return nil, nil
	}
	secret := func() (string, error) { return secretFrom("password_file", s.Password, s.PasswordFile) }
	if s.Mechanism == OAuthBearer {
		secret = func() (string, error) { return secretFrom("token_file", s.Token, s.TokenFile) }
	}
	if _, err := secret(); err != nil {
		return nil, err
	}
	scramAuth := func(context.Context) (scram.Auth, error) {
		pass, err := secret()
		return scram.Auth{User: s.Username, Pass: pass}, err
	}
	switch s.Mechanism {
	case ScramSHA256:
		return scram.Sha256(scramAuth), nil
	case ScramSHA512:
		return scram.Sha512(scramAuth), nil
	case OAuthBearer:
		return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			token, err := secret()
			return oauth.Auth{Token: token}, err
		}), nil
	}
	return plain.Plain(func(context.Context) (plain.Auth, error) {
		pass, err := secret()
		return plain.Auth{User: s.Username, Pass: pass}, err
	}), nil
}

// secretFrom returns the secret itself or the content of its file.
func secretFrom(field string, value Secret, file string) (string, error) {
	if file == "" {
		return string(value), nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("sasl: %s: %w", field, err)
	}
	s := strings.TrimRight(string(b), " \t\r\n")
	if s == "" {
		return "", fmt.Errorf("sasl: %s: %s is empty", field, file)
	}
	return s, nil
}
