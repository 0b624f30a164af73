package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// dial tries to reach a cluster and returns the error, which must come within seconds and be one line.
func dial(t *testing.T, c Config) error {
	t.Helper()
	began := time.Now()
	cl, err := Dial(testContext(t), c)
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it took %s", took)
	}
	if err == nil {
		cl.Close()
		return nil
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
	return err
}

func TestAnUnreachableBrokerIsNamedWithItsCause(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	closed := listener.Addr().String()
	must(t, listener.Close())
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	must(t, err)
	defer silent.Close()
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	for _, test := range []struct{ name, address, want string }{
		{"closed port", closed, "connection refused: is the broker up, and is the port right?"},
		{"silence", silent.Addr().String(), "it takes the connection and does not answer: is it something else than Kafka"},
		{"a web server that waits for the end of a line", strings.TrimPrefix(web.URL, "http://"), "something else than Kafka (a web server?)"},
		{"a web server that answers", answers(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), "it answers as a web server does (HTTP), not as Kafka"},
		{"something else that answers", answers(t, "SSH-2.0-OpenSSH_9.2\r\n"), "what answers is not Kafka: is the port right?"},
		{"unknown host", "no-such-host.invalid:9092", "host name no-such-host.invalid"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := dial(t, Config{Brokers: []string{test.address}, StartTimeout: time.Second})
			var connect *ConnectError
			if !errors.As(err, &connect) || connect.Address != test.address || !strings.Contains(connect.Reason, test.want) {
				if test.name == "unknown host" && errors.As(err, &connect) && strings.Contains(connect.Reason, "no answer in time") {
					t.Skip("no name server answers here")
				}
				t.Errorf("error %v, want %s", err, test.want)
			}
			if IsAuthentication(err) || !IsRetriable(err) && test.name != "unknown host" && !strings.Contains(test.name, "answers") {
				t.Errorf("authentication %v, retriable %v", IsAuthentication(err), IsRetriable(err))
			}
		})
	}
}

// answers listens, and says the same to whatever it reads.
func answers(t *testing.T, text string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var buffer [1 << 10]byte
			if _, err := conn.Read(buffer[:]); err == nil {
				_, _ = conn.Write([]byte(text)) // the client may be gone
			}
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// An address at which nobody is, as behind a firewall, is told from one where something is that does not answer.
func TestSilenceWithoutAConnectionIsToldFromSilenceWithOne(t *testing.T) {
	never := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	err := dial(t, Config{Brokers: []string{"127.0.0.1:1"}, StartTimeout: 300 * time.Millisecond, Dialer: never})
	if err == nil || !strings.Contains(err.Error(), "no answer in time: is the address right, or is a firewall between?") {
		t.Errorf("error %v", err)
	}
}

func TestOneGoodAddressIsEnough(t *testing.T) {
	c := newCluster(t)
	must(t, dial(t, Config{Brokers: []string{"127.0.0.1:1", c.ListenAddrs()[0]}}))
}

func TestPasswordsAreCheckedAtTheStart(t *testing.T) {
	file := t.TempDir() + "/password"
	must(t, os.WriteFile(file, []byte("right\n"), 0o600))
	for _, mechanism := range []string{Plain, ScramSHA256, ScramSHA512} {
		t.Run(mechanism, func(t *testing.T) {
			c := newCluster(t, kfake.EnableSASL(), kfake.Superuser(strings.ToUpper(mechanism), "me", "right"))
			sasl := SASL{Mechanism: mechanism, Username: "me", Password: "right"}
			must(t, dial(t, Config{Brokers: c.ListenAddrs(), SASL: sasl}))
			sasl.Password, sasl.PasswordFile = "", file
			must(t, dial(t, Config{Brokers: c.ListenAddrs(), SASL: sasl}))
			// The broker in memory closes the connection in this case; the real one answers.
			c.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
				resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
				return resp, nil, true
			})
			sasl.Password, sasl.PasswordFile = "wrong", ""
			err := dial(t, Config{Brokers: c.ListenAddrs(), SASL: sasl})
			if !IsAuthentication(err) || !errors.Is(err, ErrAuthentication) || IsRetriable(err) ||
				!strings.HasSuffix(err.Error(), `authentication failed for user "me" (`+mechanism+`): wrong user name or password`) {
				t.Errorf("wrong password: %v", err)
			}
			if err := dial(t, Config{Brokers: c.ListenAddrs()}); err == nil || !strings.Contains(err.Error(), "does this port want TLS or SASL") {
				t.Errorf("no password: %v", err)
			}
		})
	}
}

func TestAMechanismThatIsNotOfferedIsNamed(t *testing.T) {
	c := newCluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "me", "right"))
	err := dial(t, Config{Brokers: c.ListenAddrs(), SASL: SASL{Mechanism: OAuthBearer, Token: "t"}})
	if !IsAuthentication(err) || !strings.HasSuffix(err.Error(), "does not offer SASL mechanism oauthbearer") {
		t.Errorf("error %v", err)
	}
}

func TestTLSMistakesAreTold(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	own := a.sign(t, "broker", "127.0.0.1")
	named := a.sign(t, "named", "kafka.example")
	a.sign(t, "client", "client")
	plain := newCluster(t)
	encrypted := newCluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{own}}))
	elsewhere := newCluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{named}}))
	mutual := newCluster(t, kfake.TLS(&tls.Config{
		Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool(),
	}))
	client := TLS{CAFile: a.path("ca.pem"), CertFile: a.path("client.pem"), KeyFile: a.path("client.key")}
	for _, test := range []struct {
		name    string
		cluster *kfake.Cluster
		tls     TLS
		want    string // "" for success
	}{
		{"right authority", encrypted, TLS{CAFile: a.path("ca.pem")}, ""},
		{"wrong authority", encrypted, TLS{CAFile: other.path("ca.pem")}, "signed by an authority that is not known here: see tls.ca_file"},
		{"unverified", encrypted, TLS{Enabled: true, InsecureSkipVerify: true}, ""},
		{"plain client", encrypted, TLS{}, "does this port want TLS? tls is not enabled here"},
		{"plain broker", plain, TLS{Enabled: true}, "does the port speak TLS"},
		{"other name", elsewhere, TLS{CAFile: a.path("ca.pem")}, "its certificate is for another name"},
		{"name given", elsewhere, TLS{CAFile: a.path("ca.pem"), ServerName: "kafka.example"}, ""},
		{"mutual", mutual, client, ""},
		{"mutual without certificate", mutual, TLS{CAFile: a.path("ca.pem")}, "does it ask for a certificate? see tls.cert_file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := dial(t, Config{Brokers: test.cluster.ListenAddrs(), TLS: test.tls, StartTimeout: 2 * time.Second})
			switch {
			case test.want == "":
				must(t, err)
			case err == nil || !strings.Contains(err.Error(), test.want):
				t.Errorf("error %v, want ...%s", err, test.want)
			default:
				t.Log(err)
			}
		})
	}
}
