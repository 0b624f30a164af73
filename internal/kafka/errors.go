package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrAuthentication marks errors of who we are: a wrong password, an unknown mechanism, a refused certificate. Trying again
// does not help.
var ErrAuthentication = errors.New("authentication")

// IsAuthentication reports whether the brokers do not accept who we are, or whether a certificate on either side is
// refused.
func IsAuthentication(err error) bool {
	return errors.Is(err, ErrAuthentication) ||
		errors.Is(err, kerr.SaslAuthenticationFailed) ||
		errors.Is(err, kerr.UnsupportedSaslMechanism) ||
		errors.Is(err, kerr.IllegalSaslState) ||
		isCertificate(err)
}

// IsAuthorization reports whether the brokers know who we are and do not allow what was asked. A restart does not help
// until somebody changes an ACL.
func IsAuthorization(err error) bool {
	for _, e := range []error{
		kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.TransactionalIDAuthorizationFailed,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// IsRetriable reports whether the same call may succeed later without anybody doing anything: a leader moves, a broker
// restarts, a connection breaks.
func IsRetriable(err error) bool {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, kgo.ErrClientClosed),
		IsAuthentication(err), IsAuthorization(err):
		return false
	case kerr.IsRetriable(err), errors.Is(err, context.DeadlineExceeded):
		return true
	}
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return false
	}
	var ne net.Error
	var se *os.SyscallError
	return kgo.IsRetryableBrokerErr(err) || errors.As(err, &ne) || errors.As(err, &se) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isUnknownBroker(err)
}

// kgo does not export the errors for a broker that is not in the metadata yet, or not any more.
func isUnknownBroker(err error) bool { return strings.Contains(err.Error(), "unknown broker") }

func isCertificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var alert tls.AlertError
	return errors.As(err, &verify) || errors.As(err, &alert) || isCertificateAlert(err)
}

// A TLS 1.3 broker refuses our certificate only after our handshake is done: as an alert in place of the first answer.
func isCertificateAlert(err error) bool {
	return strings.Contains(err.Error(), "remote error: tls: ")
}

// ConnectError says why a cluster could not be reached, in one line.
type ConnectError struct {
	// Address is the broker's address, host:port.
	Address string
	// Reason is the cause in words.
	Reason string
	// Err is the error below.
	Err error
}

func (e *ConnectError) Error() string { return "broker " + e.Address + ": " + e.Reason }

// Unwrap returns the error below, and ErrAuthentication if it is one.
func (e *ConnectError) Unwrap() []error {
	if IsAuthentication(e.Err) {
		return []error{ErrAuthentication, e.Err}
	}
	return []error{e.Err}
}

// reason puts a connection error into words: what happened, and what it usually means. met: the address has taken a
// connection.
func (c *Config) reason(err error, met bool) string {
	var (
		dns       *net.DNSError
		record    tls.RecordHeaderError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		verify    *tls.CertificateVerificationError
		firstEOF  *kgo.ErrFirstReadEOF
		ne        net.Error
	)
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		if c.SASL.Mechanism == OAuthBearer {
			return "authentication failed (oauthbearer): the token is not accepted"
		}
		return fmt.Sprintf("authentication failed for user %q (%s): wrong user name or password", c.SASL.Username, c.SASL.Mechanism)
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fmt.Sprintf("does not offer SASL mechanism %s", c.SASL.Mechanism)
	case errors.Is(err, kerr.IllegalSaslState):
		return "authentication in an unexpected state: does this port speak SASL?"
	case errors.As(err, &dns):
		if dns.IsNotFound {
			return fmt.Sprintf("host name %s is unknown", dns.Name)
		}
		return fmt.Sprintf("looking up host name %s: %s", dns.Name, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: is the broker up, and is the port right?"
	case errors.As(err, &authority):
		return "its certificate is signed by an authority that is not known here: see tls.ca_file"
	case errors.As(err, &host):
		return "its certificate is for another name (" + host.Error() + "): see tls.server_name"
	case errors.As(err, &verify):
		return "its certificate is refused: " + verify.Err.Error()
	case errors.As(err, &record):
		return "does not speak TLS on this port, and tls is enabled here"
	case isCertificateAlert(err):
		return "refuses the TLS handshake (" + lastPart(err, "remote error: ") + "): does it ask for a certificate? see tls.cert_file"
	case strings.Contains(err.Error(), "beginning of an HTTP response"):
		return "it answers as a web server does (HTTP), not as Kafka: is the port right?"
	case strings.Contains(err.Error(), "tls alert record"):
		return "speaks TLS on this port, and tls is not enabled here"
	case strings.Contains(err.Error(), "invalid large response size"):
		return "what answers is not Kafka: is the port right?"
	case errors.As(err, &firstEOF), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "closed the connection: " + c.closedHint(err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		switch {
		case met && c.TLS.Enabled:
			return "it takes the connection and speaks TLS, and does not answer: is it something else than Kafka (a web server?), or does the broker hang?"
		case met:
			return "it takes the connection and does not answer: is it something else than Kafka (a web server?), does the port want TLS, or does the broker hang?"
		case c.TLS.Enabled:
			return "no answer in time: is the address right, does the port speak TLS, or is a firewall between?"
		}
		return "no answer in time: is the address right, or is a firewall between?"
	}
	return oneLine(err)
}

// closedHint guesses why a broker closed a new connection: brokers do so without a word if the other side does not speak
// what the port expects.
func (c *Config) closedHint(err error) string {
	handshake := strings.Contains(err.Error(), "immediately after a dial")
	switch {
	case c.TLS.Enabled && handshake:
		return "does this port speak TLS? tls is enabled here"
	case !c.TLS.Enabled && strings.Contains(err.Error(), "api versions"):
		return "does this port want TLS? tls is not enabled here"
	case c.SASL.Mechanism != "":
		return "did it refuse the user name or password?"
	case !c.TLS.Enabled:
		return "does this port want TLS or SASL that is not configured here?"
	}
	return "does this port want SASL that is not configured here?"
}

func lastPart(err error, after string) string {
	s := err.Error()
	if i := strings.LastIndex(s, after); i >= 0 {
		s = s[i+len(after):]
	}
	return s
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
