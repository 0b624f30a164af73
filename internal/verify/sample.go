package verify

import (
	"encoding/json"
	"strconv"
)

// Key is the key of a record. In JSON it is null or a string, in which bytes that are not UTF-8 are replaced.
type Key []byte

// MarshalJSON implements [json.Marshaler].
func (k Key) MarshalJSON() ([]byte, error) {
	if k == nil {
		return []byte("null"), nil
	}
	return json.Marshal(string(k))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (k *Key) UnmarshalJSON(b []byte) error {
	var s *string
	if err := json.Unmarshal(b, &s); err != nil || s == nil {
		*k = nil
		return err
	}
	*k = append(Key{}, *s...)
	return nil
}

// shown is how many bytes of a value a report shows.
const shown = 120

// cut is the part of a value that the ledger keeps for the report.
func cut(b []byte) []byte {
	if len(b) > shown {
		return b[:shown+1]
	}
	return b
}

// sample is the beginning of a key or a value, in quotes.
func sample(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > shown:
		return strconv.QuoteToASCII(string(b[:shown])) + "..."
	}
	return strconv.QuoteToASCII(string(b))
}
