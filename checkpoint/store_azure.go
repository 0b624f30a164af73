//go:build azure

package checkpoint

import _ "gocloud.dev/blob/azureblob"

func init() { openers["azblob"] = openBucket }
