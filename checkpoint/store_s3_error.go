package checkpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// s3Code is the code of an answer that is an error, and its HTTP status; "" and 0 without an answer.
func s3Code(err error) (code string, status int) {
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	if r := s3Response(err); r != nil {
		status = r.StatusCode
	}
	return code, status
}

func s3Response(err error) *smithyhttp.Response {
	var r *smithyhttp.ResponseError
	if errors.As(err, &r) && r.Response != nil && r.Response.Response != nil {
		return r.Response
	}
	return nil
}

// errNoCondition: the service does not know If-None-Match.
var errNoCondition = errors.New("the service does not put a file only if there is none")

// put412 reads the answer to a Put with a condition.
func (s *s3Store) put412(err error) error {
	switch code, status := s3Code(err); {
	case err == nil:
		return nil
	case code == "PreconditionFailed" || status == http.StatusPreconditionFailed:
		return fs.ErrExist
	case code == "NotImplemented" || status == http.StatusNotImplemented:
		return fmt.Errorf("%w: %w", errNoCondition, err)
	}
	return err
}

// isPermanentS3 reports whether another connection is of no use.
func isPermanentS3(err error) bool {
	_, status := s3Code(err)
	return status >= 400 && status < 500 || errors.Is(err, fs.ErrInvalid)
}

// farApart is a difference of clocks that is worth a word. The services accept 15 minutes.
const farApart = 5 * time.Minute

// explain says what an error means and what to do, in one line. Doing is what was asked, "" for the opening of the store.
func (s *s3Store) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	code, status := s3Code(err)
	say := func(permanent bool, format string, args ...any) error {
		return &StoreError{Doing: doing, Text: fmt.Sprintf(format, args...), Permanent: permanent, Err: err}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: %w", doing, fs.ErrExist)
	case code == "NoSuchKey" || code == "NotFound":
		return fmt.Errorf("%s: %w", doing, fs.ErrNotExist)
	case errors.Is(err, ErrCorrupt), errors.Is(err, fs.ErrInvalid):
		return fmt.Errorf("%s: %w", doing, err)
	}
	if apart, text := s.clocks(err); code == "RequestTimeTooSkewed" || apart > farApart && status == http.StatusForbidden {
		return say(true, "the service refuses this machine's time%s: set the clock, by NTP for example", in(code, text))
	}
	switch code {
	case "InvalidAccessKeyId":
		return say(true, "the service does not know the access key%s: is AWS_ACCESS_KEY_ID, or the profile, that of this service?", in(code))
	case "SignatureDoesNotMatch":
		return say(true, "the secret key is not that of the access key%s: correct AWS_SECRET_ACCESS_KEY, or the profile", in(code))
	case "InvalidToken", "InvalidClientTokenId", "UnrecognizedClientException":
		return say(true, "the service does not know the session token%s: take new keys, or remove AWS_SESSION_TOKEN", in(code))
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired":
		return say(false, "the keys have expired%s: take new ones", in(code))
	case "AccessDenied", "AllAccessDisabled", "AccountProblem", "Forbidden":
		return say(true, "the keys are not allowed to do this%s: they need s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload below its path", in(code))
	case "NoSuchBucket", "InvalidBucketName":
		return say(true, "no such bucket at %s%s: make it, or correct checkpoint.storage", s.endpoint, in(code))
	case "QuotaExceeded", "XMinioStorageFull", "InsufficientStorage":
		return say(false, "there is no room left%s", in(code))
	}
	switch region, ours := "", s.client.Options().Region; {
	case code == "PermanentRedirect", code == "AuthorizationHeaderMalformed", code == "IllegalLocationConstraintException", status == http.StatusMovedPermanently:
		if r := s3Response(err); r != nil {
			region = r.Header.Get("X-Amz-Bucket-Region")
		}
		if region == "" {
			return say(true, "the bucket is not in region %s%s: give its own, ?region=REGION", ours, in(code))
		}
		return say(true, "the bucket is in region %s and not in %s%s: set ?region=%s", region, ours, in(code), region)
	case status == http.StatusForbidden:
		return say(true, "the service refuses it (HTTP 403): are the keys right, and may they do this?")
	case status != 0 || code != "":
		return say(false, "%s", s.answer(err, code, status))
	}
	return s.explainNoAnswer(say, err)
}

// explainNoAnswer is explain of an error that is no answer of the service.
func (s *s3Store) explainNoAnswer(say func(permanent bool, format string, args ...any) error, err error) error {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var dns *net.DNSError
	var network net.Error
	text := err.Error()
	switch {
	case strings.Contains(text, "get credentials:"), strings.Contains(text, "get identity:"):
		return say(false, "no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile of the shared configuration (?profile=NAME), or give the machine a role")
	case errors.As(err, &certificate):
		return say(true, "the certificate of %s is not accepted (%s): if it is signed by an authority of your own, set AWS_CA_BUNDLE to its file", s.endpoint, certificateText(certificate))
	case errors.As(err, &record), strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return say(true, "%s does not speak TLS: is it an http:// endpoint?", s.endpoint)
	case errors.Is(err, context.Canceled):
		return say(false, "canceled")
	case errors.As(err, &dns):
		return say(false, "no address of %s is known: is the endpoint right? services whose buckets have no host names of their own want ?use_path_style=true", dns.Name)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errSilent), errors.As(err, &network) && network.Timeout():
		return say(false, "no answer from %s in time: is it slow, or not reachable?", s.endpoint)
	case errors.As(err, &network):
		return say(false, "%s does not answer (%s): is the endpoint right, and does the service run?", s.endpoint, networkText(err))
	}
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		err = operation.Err
	}
	return say(false, "%s", shortened(oneLine(err)))
}

// in puts what is known into parentheses: " (a, b)".
func in(parts ...string) string {
	var known []string
	for _, p := range parts {
		if p != "" {
			known = append(known, p)
		}
	}
	if known == nil {
		return ""
	}
	return " (" + strings.Join(known, ", ") + ")"
}

// clocks compares the service's clock, as its answer shows it, with this machine's.
func (s *s3Store) clocks(err error) (apart time.Duration, text string) {
	r := s3Response(err)
	if r == nil {
		return 0, ""
	}
	there, failed := http.ParseTime(r.Header.Get("Date"))
	if failed != nil {
		return 0, ""
	}
	here := time.Now().UTC()
	apart = here.Sub(there).Abs()
	return apart, fmt.Sprintf("here it is %s, there %s, %s apart", here.Format(time.RFC3339), there.UTC().Format(time.RFC3339), apart.Round(time.Second))
}

// answer is what the service says, as short as it is useful.
func (s *s3Store) answer(err error, code string, status int) string {
	var api smithy.APIError
	message := ""
	if errors.As(err, &api) {
		message = api.ErrorMessage()
	}
	if message == "" {
		message = http.StatusText(status)
	}
	return fmt.Sprintf("%s answers: %s%s", s.endpoint, shortened(strings.Join(strings.Fields(message), " ")), in(code, fmt.Sprintf("HTTP %d", status)))
}

func shortened(text string) string {
	const most = 300
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

func certificateText(err *tls.CertificateVerificationError) string {
	var name x509.HostnameError
	if errors.As(err, &name) {
		return oneLine(name)
	}
	return oneLine(err.Err)
}

// networkText is the innermost cause: "connection refused".
func networkText(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		var call interface{ Unwrap() error }
		if errors.As(op.Err, &call) && call.Unwrap() != nil {
			return call.Unwrap().Error()
		}
		return op.Err.Error()
	}
	return shortened(oneLine(err))
}
