package kafka

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func TestASecretIsNeverPrinted(t *testing.T) {
	c := Config{Brokers: []string{"b:1"}, SASL: SASL{Mechanism: "plain", Username: "u", Password: "hunter2", Token: "hunter2"}}
	var out bytes.Buffer
	for _, v := range []any{c, &c, c.SASL, &c.SASL, c.SASL.Password, []SASL{c.SASL}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		b, err := yaml.Marshal(v)
		must(t, err)
		out.Write(b)
		b, err = json.Marshal(v)
		must(t, err)
		out.Write(b)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
	}
	for _, secret := range []string{"hunter2", fmt.Sprintf("%x", "hunter2"), fmt.Sprintf("%X", "hunter2")} {
		if i := strings.Index(out.String(), secret); i >= 0 {
			t.Errorf("the secret is in %q", out.String()[max(0, i-80):i+len(secret)])
		}
	}
}

func TestSettingsAreReadFromYAML(t *testing.T) {
	var c Config
	must(t, yaml.UnmarshalWithOptions([]byte(`
brokers: [one, "two:9093"]
tls: {ca_file: ca.pem}
sasl: {mechanism: SCRAM-SHA-512, username: u, password: p}
dial_timeout: 7s
`), &c, yaml.Strict()))
	c.EnsureDefaults()
	must(t, c.Validate())
	if got := c.String(); got != "one:9092,two:9093 tls sasl scram-sha-512 as u" {
		t.Errorf("settings %s", got)
	}
	if c.SASL.Password != "p" || c.DialTimeout.Seconds() != 7 || c.ClientID != "weir" {
		t.Errorf("settings %+v, password of %d bytes", c, len(c.SASL.Password))
	}
}

func TestEveryMistakeIsReported(t *testing.T) {
	for _, test := range []struct {
		name string
		c    Config
		want []string
	}{
		{"nothing", Config{}, []string{"brokers: none given: at least one host:port is needed"}},
		{"address", Config{Brokers: []string{"a:b", "c:0", ":1", "fine", "[::1]:9092", "::1", "http://a:9092"}}, []string{
			`brokers: "a:b" is not host:port`, `brokers: "c:0" is not host:port`, `brokers: ":1" is not host:port`, `brokers: "http://a:9092" is not host:port`}},
		{"half a certificate", Config{Brokers: []string{"a"}, TLS: TLS{CertFile: "c"}}, []string{"tls: cert_file and key_file go together"}},
		{"no mechanism", Config{Brokers: []string{"a"}, SASL: SASL{Username: "u"}}, []string{
			"sasl: mechanism is missing: one of plain, scram-sha-256, scram-sha-512, oauthbearer"}},
		{"unknown mechanism", Config{Brokers: []string{"a"}, SASL: SASL{Mechanism: "gssapi"}}, []string{
			`sasl: mechanism "gssapi" is unknown: one of plain, scram-sha-256, scram-sha-512, oauthbearer`}},
		{"no password", Config{Brokers: []string{"a"}, SASL: SASL{Mechanism: "plain"}}, []string{
			"sasl: plain needs username", "sasl: plain needs password or password_file"}},
		{"two passwords", Config{Brokers: []string{"a"}, SASL: SASL{Mechanism: "plain", Username: "u", Password: "p", PasswordFile: "f"}},
			[]string{"sasl: password and password_file are both given"}},
		{"no token", Config{Brokers: []string{"a"}, SASL: SASL{Mechanism: "OAUTHBEARER"}}, []string{"sasl: oauthbearer needs token or token_file"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.c.Validate()
			if err == nil || err.Error() != strings.Join(test.want, "\n") {
				t.Errorf("got:\n%v\nwant:\n%s", err, strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestAFileThatIsMissingIsNamed(t *testing.T) {
	a := newAuthority(t)
	a.write(t, "empty.pem", "NOTHING", nil)
	for _, test := range []struct {
		c    Config
		want string
	}{
		{Config{TLS: TLS{CAFile: a.path("none.pem")}}, "tls: ca_file: open "},
		{Config{TLS: TLS{CAFile: a.path("empty.pem")}}, "tls: ca_file: "},
		{Config{TLS: TLS{CertFile: a.path("none.pem"), KeyFile: a.path("none.key")}}, "tls: cert_file "},
		{Config{SASL: SASL{Mechanism: "plain", Username: "u", PasswordFile: a.path("none")}}, "sasl: password_file: open "},
		{Config{SASL: SASL{Mechanism: "oauthbearer", TokenFile: a.path("none")}}, "sasl: token_file: open "},
	} {
		test.c.Brokers = []string{"127.0.0.1"}
		if _, err := test.c.Options(); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("error %v, want %s...", err, test.want)
		}
	}
}
