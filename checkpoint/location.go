package checkpoint

import "strings"

// IsURL reports whether a location is a URL, such as that of a bucket, and not the path of a directory of this machine.
func IsURL(location string) bool { return strings.Contains(location, "://") }
