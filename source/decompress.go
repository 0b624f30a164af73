package source

import "github.com/twmb/franz-go/pkg/kgo"

// decompressor decompresses record batches, each into a slice of its own of about the right size: kgo by itself goes by
// the way of a buffer and copies. One goroutine uses it.
type decompressor struct {
	kgo kgo.Decompressor
	// growth is what a byte became at most lately, in 64ths of a byte, by codec.
	growth [8]int
}

func newDecompressor() *decompressor {
	d := &decompressor{}
	d.kgo = kgo.DefaultDecompressor(d)
	return d
}

const (
	// firstGrowth is what is taken for the growth before anything was decompressed.
	firstGrowth = 4 * 64
	// mostGrowth: a batch of zeros is not to make the next one take a gigabyte.
	mostGrowth = 16 * 64
)

func (d *decompressor) decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	out, err := d.unpack(src, codec)
	if err != nil || len(src) == 0 {
		return out, err
	}
	// A little more than the last one; it sinks slowly, since too small costs a copy and too large only memory.
	g := &d.growth[codec&attrCompression]
	*g = min(max(len(out)*64/len(src)+2, *g-*g/64), mostGrowth)
	return out, nil
}

func (d *decompressor) unpack(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if codec == kgo.CodecLz4 {
		if out, ok := unpackLz4(d.GetDecompressBytes(src, codec), src); ok {
			return out, nil
		}
	}
	return d.kgo.Decompress(src, codec) // and what is wrong with it
}

// GetDecompressBytes implements kgo.PoolDecompressBytes.
func (d *decompressor) GetDecompressBytes(src []byte, codec kgo.CompressionCodecType) []byte {
	g := d.growth[codec&attrCompression]
	if g == 0 {
		g = firstGrowth
	}
	// bytes.Buffer wants room to read into once more, to see the end.
	return make([]byte, 0, len(src)*g/64+512)
}

// PutDecompressBytes implements kgo.PoolDecompressBytes: what a batch became belongs to its records.
func (d *decompressor) PutDecompressBytes([]byte) {}
