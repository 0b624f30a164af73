package checkpoint

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dustin/go-humanize"
)

// Bytes is a size in bytes. As text it takes a unit, "512MiB" or "64 kB" (1 MiB is 1048576 bytes, 1 MB is 1000000).
type Bytes int64

// Sizes that are often needed.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	if err != nil || n > math.MaxInt64 {
		return fmt.Errorf("%q is not a size: want for example 512MiB or 20KiB", text)
	}
	*b = Bytes(n)
	return nil
}

// MarshalText implements encoding.TextMarshaler. It is exact: what it writes reads back as the same number.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String returns the size in the largest unit that divides it.
func (b Bytes) String() string {
	switch {
	case b != 0 && b%GiB == 0:
		return strconv.FormatInt(int64(b/GiB), 10) + "GiB"
	case b != 0 && b%MiB == 0:
		return strconv.FormatInt(int64(b/MiB), 10) + "MiB"
	case b != 0 && b%KiB == 0:
		return strconv.FormatInt(int64(b/KiB), 10) + "KiB"
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}
