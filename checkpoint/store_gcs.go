//go:build gcs

package checkpoint

import _ "gocloud.dev/blob/gcsblob"

func init() { openers["gs"] = openBucket }
