package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What the service answers, and what a user reads: one line, the cause, what to do, no secret.
func TestS3ErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		code      string
		status    int
		headers   map[string]string
		want      string
		permanent bool
	}{
		{"InvalidAccessKeyId", 403, nil, "does not know the access key (InvalidAccessKeyId)", true},
		{"SignatureDoesNotMatch", 403, nil, "the secret key is not that of the access key", true},
		{"InvalidToken", 400, nil, "remove AWS_SESSION_TOKEN", true},
		{"ExpiredToken", 400, nil, "the keys have expired", false},
		{"AccessDenied", 403, nil, "they need s3:ListBucket", true},
		{"NoSuchBucket", 404, nil, "no such bucket at http://127.0.0.1:", true},
		{"PermanentRedirect", 301, map[string]string{"X-Amz-Bucket-Region": "eu-west-1"}, "the bucket is in region eu-west-1 and not in us-east-1 (PermanentRedirect): set ?region=eu-west-1", true},
		{"AuthorizationHeaderMalformed", 400, nil, "not in region us-east-1", true},
		{"QuotaExceeded", 403, nil, "no room left (QuotaExceeded)", false},
		{"ServiceUnavailable", 503, nil, "answers: message of ServiceUnavailable (ServiceUnavailable, HTTP 503)", false},
		{"SlowDown", 503, nil, "SlowDown", false},
		{"SomethingNew", 400, nil, "answers: message of SomethingNew (SomethingNew, HTTP 400)", false},
	} {
		t.Run(c.code, func(t *testing.T) {
			fake, location := s3Location(t, "bucket/weir")
			store := openLocation(t, location)
			fake.before = func(w http.ResponseWriter, _ *http.Request) bool {
				for name, value := range c.headers {
					w.Header().Set(name, value)
				}
				s3Error(w, c.status, c.code)
				return true
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, opening := OpenStore(ctx, location)
			for doing, err := range map[string]error{
				"storage s3://bucket/weir: ":        opening,
				"writing s3://bucket/weir/j/0/x: ":  store.Put(ctx, "j/0/x", strings.NewReader("content")),
				"reading s3://bucket/weir/j/0/x: ":  store.Get(ctx, "j/0/x", &strings.Builder{}),
				"removing s3://bucket/weir/j/0/x: ": store.Delete(ctx, "j/0/x"),
			} {
				checkStoreError(t, err, doing, c.want, c.permanent)
			}
		})
	}
}

func checkStoreError(t *testing.T, err error, begin, want string, permanently bool) {
	t.Helper()
	if err == nil {
		t.Errorf("%sno error", begin)
		return
	}
	text := err.Error()
	if !strings.HasPrefix(text, begin) || !strings.Contains(text, want) || strings.ContainsAny(text, "\n") || strings.Contains(text, s3Secret) || len(text) > 400 {
		t.Errorf("%q, want %s... %s", text, begin, want)
	}
	if asStoreError(err) == nil || permanent(err) != permanently || IsDamage(err) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%q: permanent %v, damage %v", text, permanent(err), IsDamage(err))
	}
}

// A service that cannot be asked at all.
func TestS3ThatCannotBeAskedIsNamedWithTheCause(t *testing.T) {
	s3Keys(t)
	trusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	trusted.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshakes that fail
	trusted.StartTLS()
	defer trusted.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	_ = listener.Close()
	for _, c := range []struct {
		location, want string
		permanent      bool
	}{
		{s3URL("bucket/weir", "http://"+closed), "http://" + closed + " does not answer (connection refused): is the endpoint right", false},
		{s3URL("bucket/weir", trusted.URL), "is not accepted (x509: certificate signed by unknown authority): if it is signed by an authority of your own, set AWS_CA_BUNDLE", true},
		{s3URL("bucket/weir", strings.Replace(plain.URL, "http:", "https:", 1)), "does not speak TLS: is it an http:// endpoint?", true},
		{s3URL("bucket/weir", "http://storage.invalid"), "no address of storage.invalid is known", false},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := OpenStore(ctx, c.location)
		cancel()
		checkStoreError(t, err, "storage s3://bucket/weir: ", c.want, c.permanent)
	}
}

func TestS3WithoutKeysSaysWhereTheyComeFrom(t *testing.T) {
	_, location := s3Location(t, "bucket/weir")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	_, err := OpenStore(t.Context(), location)
	checkStoreError(t, err, "storage s3://bucket/weir: ", "no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", false)
}

// Mistakes in the URL are named without a request, and without what it says.
func TestMistakesInAnS3URLAreNamed(t *testing.T) {
	s3Keys(t)
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	for location, want := range map[string]string{
		"s3://bucket/weir":                                                    "storage s3://bucket/weir: no region: add ?region=REGION, or set AWS_REGION",
		"s3://key:" + "hidden@bucket/weir":                                    "storage s3://bucket/weir: keys do not belong into the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile",
		"s3:///weir?region=a":                                                 "storage s3:///weir: no bucket: want s3://BUCKET/PATH",
		"s3://bucket?region=a&use_path_style=perhaps":                         `storage s3://bucket: use_path_style "perhaps": want true or false`,
		"s3://bucket?region=a&endpoint=host:1":                                "storage s3://bucket: endpoint: want a URL such as https://s3.example.org",
		"s3://bucket?region=a&endpoint=" + "http%3A%2F%2Fkey%3Ahidden%40host": "storage s3://bucket: endpoint: keys do not belong into the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile",
		"s3://bucket?region=a&secret=hidden":                                  `storage s3://bucket: unknown query parameter "secret"`,
		"s3://bucket?region=a&ssetype=x":                                      `storage s3://bucket: ssetype "x": want one of [AES256 aws:fsx aws:backup aws:kms aws:kms:dsse]`,
	} {
		_, err := OpenStore(t.Context(), location)
		if err == nil || err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

// A clock that is wrong is corrected by the service's own, since the SDK signs again with its time.
func TestAWrongClockIsCorrected(t *testing.T) {
	fake, location := s3Location(t, "bucket/weir")
	fake.before = func(w http.ResponseWriter, r *http.Request) bool {
		there := time.Now().Add(time.Hour)
		w.Header().Set("Date", there.UTC().Format(http.TimeFormat))
		signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil || there.Sub(signed).Abs() > 15*time.Minute {
			s3Error(w, http.StatusForbidden, "RequestTimeTooSkewed")
			return true
		}
		return false
	}
	store := openLocation(t, location)
	if err := store.Put(t.Context(), "x", strings.NewReader("content")); err != nil {
		t.Error(err)
	}
}

// Where that is of no use, both clocks are named.
func TestAWrongClockIsNamedWithBothTimes(t *testing.T) {
	fake, location := s3Location(t, "bucket/weir")
	there := time.Now().Add(time.Hour).UTC()
	fake.before = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Date", there.Format(http.TimeFormat))
		s3Error(w, http.StatusForbidden, "RequestTimeTooSkewed")
		return true
	}
	_, err := OpenStore(t.Context(), location)
	checkStoreError(t, err, "storage s3://bucket/weir: the service refuses this machine's time (RequestTimeTooSkewed, here it is "+time.Now().UTC().Format("2006-01-02T"),
		fmt.Sprintf("there %s, ", there.Format(time.RFC3339)), true)
	if !strings.Contains(err.Error(), " apart): set the clock") {
		t.Error(err)
	}
}

func TestMissingBucketIsAnErrorAtTheStart(t *testing.T) {
	_, location := s3Location(t, "another/weir")
	_, err := OpenStore(t.Context(), location)
	checkStoreError(t, err, "storage s3://another/weir: no such bucket", "make it, or correct checkpoint.storage", true)
}
