package checkpoint

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// s3Parameters are what may stand behind the ? of an s3:// URL: those of [openS3] and of gocloud.dev/aws.
var s3Parameters = []string{"accelerate", "anonymous", "awssdk", "disable_https", "dualstack", "endpoint", "fips", "hostname_immutable",
	"kmskeyid", "profile", "rate_limiter_capacity", "region", "request_checksum_calculation", "response_checksum_validation", "role",
	"s3ForcePathStyle", "ssetype", "use_path_style"}

// checkLocation reports what can be said against a place without opening it: a URL that no opener takes. A directory is
// never wrong. No secret of the URL is in the error.
func checkLocation(location string) error {
	scheme, _, isURL := strings.Cut(location, "://")
	if !isURL {
		return nil
	}
	u, err := url.Parse(location)
	switch {
	case err != nil:
		return fmt.Errorf("%s://...: not a URL", scheme)
	case u.Scheme == "file":
		return nil
	case openers[u.Scheme] == nil:
		return unknownScheme(u)
	case u.Scheme == "s3":
		if err := checkS3(u); err != nil {
			return fmt.Errorf("%s: %w", place(u), err)
		}
	}
	return nil
}

func unknownScheme(u *url.URL) error {
	if tag := tags[u.Scheme]; tag != "" {
		return fmt.Errorf("%s: this binary is built without %s:// (build tag %s)", place(u), u.Scheme, tag)
	}
	return fmt.Errorf("%s: unknown scheme %q: want a directory or s3://BUCKET/PATH", place(u), u.Scheme)
}

func checkS3(u *url.URL) error {
	if u.User != nil {
		return errors.New("keys do not belong into the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile")
	}
	if u.Host == "" {
		return errors.New("no bucket: want s3://BUCKET/PATH")
	}
	q := u.Query()
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if slices.Contains(s3Parameters, name) {
			continue
		}
		near := slices.MinFunc(s3Parameters, func(a, b string) int {
			return levenshtein.ComputeDistance(name, a) - levenshtein.ComputeDistance(name, b)
		})
		if levenshtein.ComputeDistance(name, near) <= max(1, len(name)/3) {
			return fmt.Errorf("unknown query parameter %q (did you mean %q?)", name, near)
		}
		return fmt.Errorf("unknown query parameter %q", name)
	}
	return checkEndpoint(q.Get("endpoint"))
}
