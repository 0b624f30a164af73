package jsontext

// ScanNumber returns the position after the number that begins at s[i], and whether it has a fraction or an exponent.
func ScanNumber(s string, i int) (end int, real bool) {
	if i < len(s) && s[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(s) && s[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return ^i, false
	}
	if i < len(s) && s[i] == '.' {
		real = true
		if i++; !digits() {
			return ^i, true
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		real = true
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return ^i, true
		}
	}
	return i, real
}

// ScanDecimal reads a plain number in one go: digits, perhaps a sign before and a fraction behind, at most 15 digits. Its
// value is mantissa / 10^decimals, see [Quotient]. ok is false for anything else, right or wrong: ScanNumber then decides.
func ScanDecimal(s string, i int) (mantissa int64, decimals, end int, ok bool) {
	negative := s[i] == '-'
	if negative {
		i++
	}
	first, point := i, -1
	for ; i < len(s); i++ {
		if c := s[i] - '0'; c <= 9 {
			mantissa = mantissa*10 + int64(c)
		} else if s[i] == '.' && point < 0 && i > first {
			point = i
		} else {
			break
		}
		if i-first > 15 {
			return 0, 0, 0, false
		}
	}
	if point >= 0 {
		decimals = i - point - 1
	}
	switch {
	case i == first, point >= 0 && decimals == 0, i < len(s) && (s[i]|0x20 == 'e' || s[i] == '.'):
		return 0, 0, 0, false
	case s[first] == '0' && i > first+1 && point != first+1:
		return 0, 0, 0, false
	}
	if negative {
		mantissa = -mantissa
	}
	return mantissa, decimals, i, !negative || mantissa != 0
}

var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// Quotient returns mantissa / 10^decimals, for what ScanDecimal returned. It is exact: both fit in the 53 bits of a float,
// and a division is rounded correctly.
func Quotient(mantissa int64, decimals int) float64 { return float64(mantissa) / pow10[decimals] }

// ScanInt reads an integer of at most 19 digits in one go: its sign and its size. ok is false for anything else, right or
// wrong: ScanNumber then decides.
func ScanInt(s string, i int) (size uint64, negative bool, end int, ok bool) {
	if i < len(s) && s[i] == '-' {
		negative = true
		i++
	}
	first := i
	for i+8 <= len(s) && i-first <= 8 {
		w := word8(s, i)
		if !digits8(w) {
			break
		}
		size = size*100_000_000 + value8(w)
		i += 8
	}
	for i < len(s) && s[i]-'0' <= 9 {
		if i-first == 19 {
			return 0, false, 0, false
		}
		size = size*10 + uint64(s[i]-'0')
		i++
	}
	switch {
	case i > first+1 && s[first] == '0':
		return 0, negative, first + 1, true // no digit can follow: the number ends here, and the text is wrong
	case i == first, i < len(s) && (s[i] == '.' || s[i]|0x20 == 'e'):
		return 0, false, 0, false
	}
	return size, negative, i, true
}

// digits8 reports whether all of eight bytes are digits: their high halves are 3, also after 6 was added.
func digits8(w uint64) bool {
	return w&(ones*0xf0)|(w+ones*6)&(ones*0xf0)>>4 == ones*0x33
}

// value8 is the number that eight digits say, the first one in the lowest byte. Neighbours are joined three times: digits,
// then pairs, then fours. The method is that of simdjson's parse_eight_digits_unrolled.
func value8(w uint64) uint64 {
	w -= ones * '0'
	w = w*10 + w>>8
	const pairs = 0x000000ff000000ff
	return (w&pairs*(100+1_000_000<<32) + w>>16&pairs*(1+10_000<<32)) >> 32
}
