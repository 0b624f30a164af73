package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"
	gcaws "gocloud.dev/aws"
)

func init() { openers["s3"] = openS3 }

// s3Store is a Store in a bucket of S3 or of a service that speaks its protocol. It uses the SDK and not gocloud.dev/blob: a
// Put has to say that there must be no file of that name, and an error has to say what to do.
//
// Files of up to partSize are one PUT; longer ones are uploaded in parts, several at a time, and given up as a whole if one
// fails. A download that breaks off goes on where it was. What is sent is verified by the service (a CRC, or the signed
// SHA-256 of the content), what is read by [Files].
type s3Store struct {
	client *awss3.Client
	bucket string
	// prefix is the path of the URL with a "/" at its end, or empty.
	prefix string
	at     string
	// endpoint is the host that is asked, for errors.
	endpoint string

	encryption types.ServerSideEncryption
	kmsKey     string

	// plain: the service has refused the condition of a Put, so that the name is looked for first instead.
	plain   atomic.Bool
	buffers sync.Pool // *[]byte of partSize
}

const (
	// partSize is the size of a part, and of the longest file that is sent in one piece. S3 wants parts of at least 5 MiB.
	partSize = 8 << 20
	// partsAtOnce is how many parts of a file are under way at a time; each has a buffer.
	partsAtOnce = 4
	// maxParts is S3's limit.
	maxParts = 10_000

	// s3Tries is how often the SDK tries a request: a hiccup, or a signature that it repeats with the service's clock. Longer
	// troubles are the business of [Files].
	s3Tries = 3
	// s3Pause is the longest pause before the second of these tries; it doubles.
	s3Pause = 100 * time.Millisecond
	// s3Dial bounds a connection's begin, s3Silence a service that says nothing: then the request is tried again elsewhere.
	s3Dial    = 5 * time.Second
	s3Silence = 15 * time.Second
)

// openS3 opens s3://BUCKET/PATH?OPTIONS. Options are those of [gcaws.V2ConfigFromURLParams] (region, profile, endpoint, role,
// ...), and ssetype, kmskeyid, accelerate, use_path_style, disable_https. Keys come from where the SDK looks for them, never
// from the URL.
func openS3(ctx context.Context, u *url.URL) (Store, error) {
	if err := checkS3(u); err != nil {
		return nil, err
	}
	q := u.Query()
	s := &s3Store{bucket: u.Host, at: strings.TrimRight(place(u), "/"), kmsKey: q.Get("kmskeyid")}
	if path := strings.Trim(u.Path, "/"); path != "" {
		s.prefix = path + "/"
	}
	for _, t := range s.encryption.Values() {
		if strings.EqualFold(string(t), q.Get("ssetype")) {
			s.encryption = t
		}
	}
	if q.Get("ssetype") != "" && s.encryption == "" {
		return nil, fmt.Errorf("ssetype %q: want one of %v", q.Get("ssetype"), s.encryption.Values())
	}
	var options awss3.Options
	var pathStyle, legacyPathStyle, immutable bool
	for name, to := range map[string]*bool{
		"accelerate": &options.UseAccelerate, "disable_https": &options.EndpointOptions.DisableHTTPS,
		"use_path_style": &pathStyle, "s3ForcePathStyle": &legacyPathStyle, "hostname_immutable": &immutable,
	} {
		if text := q.Get(name); text != "" {
			value, err := strconv.ParseBool(text)
			if err != nil {
				return nil, fmt.Errorf("%s %q: want true or false", name, text)
			}
			*to = value
		}
		q.Del(name)
	}
	endpoint := q.Get("endpoint")
	for _, name := range []string{"ssetype", "kmskeyid", "endpoint"} {
		q.Del(name)
	}
	// What is read is verified by its SHA-256, and the SDK would print a warning for every answer of a service without checksums.
	const validation = "response_checksum_validation"
	if !q.Has(validation) {
		q.Set(validation, "when_required")
	}
	cfg, err := gcaws.V2ConfigFromURLParams(ctx, q)
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" && endpoint != "" {
		cfg.Region = "us-east-1" // of no meaning to most services that are not AWS, but part of the signature
	}
	if cfg.Region == "" {
		return nil, errors.New("no region: add ?region=REGION, or set AWS_REGION")
	}
	cfg.Logger = logging.Nop{}
	cfg.HTTPClient = s3Client(cfg.HTTPClient)
	s.client = awss3.NewFromConfig(cfg, func(o *awss3.Options) {
		o.UseAccelerate, o.EndpointOptions.DisableHTTPS = options.UseAccelerate, options.EndpointOptions.DisableHTTPS
		o.UsePathStyle = pathStyle || legacyPathStyle || immutable
		if endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts, o.RateLimiter = s3Tries, ratelimit.None
			o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
				return rand.N(s3Pause << attempt), nil
			})
		})
	})
	s.buffers.New = func() any { b := make([]byte, partSize); return &b }
	s.endpoint = s.host()
	return s, s.check(ctx)
}

// checkEndpoint tells what is no URL, without what may be secret in it.
func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	e, err := url.Parse(endpoint)
	switch {
	case err != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https":
		return errors.New("endpoint: want a URL such as https://s3.example.org")
	case e.User != nil:
		return errors.New("endpoint: keys do not belong into the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile")
	}
	return nil
}

// host is where requests go, as far as errors name it.
func (s *s3Store) host() string {
	o := s.client.Options()
	if o.BaseEndpoint != nil {
		if e, err := url.Parse(*o.BaseEndpoint); err == nil {
			return e.Scheme + "://" + e.Host
		}
	}
	return "S3 in " + o.Region
}

// s3Client is the SDK's HTTP client with limits on how long nothing may happen. Whatever the environment says of
// certificates and proxies stays.
func s3Client(c aws.HTTPClient) aws.HTTPClient {
	b, ok := c.(*awshttp.BuildableClient)
	if !ok {
		b = awshttp.NewBuildableClient()
	}
	return b.WithTransportOptions(func(t *http.Transport) {
		t.ResponseHeaderTimeout = s3Silence
		t.TLSHandshakeTimeout = s3Dial
		t.DialContext = dialPatiently
		t.MaxIdleConnsPerHost = 2 * partsAtOnce
	})
}

// check lists at most one file: unlike a question about the bucket, an answer to it says what is wrong.
func (s *s3Store) check(ctx context.Context) error {
	_, err := s.client.ListObjectsV2(ctx, &awss3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &s.prefix, MaxKeys: aws.Int32(1)})
	return s.explain("", err)
}

func (s *s3Store) String() string { return s.at }

// Close lets the connections go that nobody uses.
func (s *s3Store) Close() error {
	if c, ok := s.client.Options().HTTPClient.(*awshttp.BuildableClient); ok {
		c.GetTransport().CloseIdleConnections()
	}
	return nil
}

func (s *s3Store) key(name string) *string { return aws.String(s.prefix + name) }

func (s *s3Store) doing(what, name string) string { return what + " " + s.at + "/" + name }
