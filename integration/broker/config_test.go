package broker

import (
	"slices"
	"strings"
	"testing"
)

func TestPropertiesOfTheTestWin(t *testing.T) {
	o := Options{Dir: "data-of-a-test", Properties: map[string]string{"transaction.max.timeout.ms": "60000", "num.io.threads": "8"}}
	o.EnsureDefaults()
	lines := strings.Split(o.properties(ports{plain: 1, controller: 2, sasl: 3}), "\n")
	for _, want := range []string{
		"transaction.max.timeout.ms=60000",
		"num.io.threads=8",
		"listeners=PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2",
		"log.dirs=data-of-a-test/data",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

func TestUsersGetAListenerOfTheirOwn(t *testing.T) {
	o := Options{Dir: "d", Users: map[string]string{"weir": "secret", "admin": "a"}}
	got := o.properties(ports{plain: 1, controller: 2, sasl: 3})
	for _, want := range []string{
		",SASL_PLAINTEXT://127.0.0.1:3\n",
		`PlainLoginModule required user_admin="a" user_weir="secret";`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestFeaturesAreFormatOptions(t *testing.T) {
	o := Options{Features: map[string]string{"transaction.version": "0"}}
	args := o.formatArgs("server.properties")
	if got := strings.Join(args[len(args)-2:], " "); got != "--feature transaction.version=0" {
		t.Errorf("the last two arguments are %q", got)
	}
}
