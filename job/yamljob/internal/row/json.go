package row

import (
	"strings"

	"github.com/weirstream/weir/internal/jsontext"
)

// Member returns a member of a JSON object: null if text is no object or has no such member, or if that is null.
func Member(text, name string) Value {
	if text == "" || text[0] != '{' {
		return Null
	}
	for i := jsontext.SkipSpace(text, 1); i < len(text) && text[i] == '"'; i = jsontext.SkipSpace(text, i+1) {
		end, escaped := jsontext.ScanString(text, i)
		key := text[i+1 : end-1]
		if escaped {
			key = string(jsontext.AppendUnescaped(nil, key))
		}
		i = jsontext.SkipSpace(text, jsontext.SkipSpace(text, end)+1)
		end = jsontext.ScanValue(text, i, 0)
		if key == name {
			return jsonOrNull(text[i:end])
		}
		if i = jsontext.SkipSpace(text, end); text[i] != ',' {
			break
		}
	}
	return Null
}

// Element returns an element of a JSON array, from the end if n is negative; null if there is none or if that is null.
func Element(text string, n int64) Value {
	if text == "" || text[0] != '[' {
		return Null
	}
	if n < 0 {
		for i := jsontext.SkipSpace(text, 1); text[i] != ']'; i = jsontext.SkipSpace(text, i+1) {
			n++
			if i = jsontext.SkipSpace(text, jsontext.ScanValue(text, i, 0)); text[i] != ',' {
				break
			}
		}
		if n < 0 {
			return Null
		}
	}
	for i := jsontext.SkipSpace(text, 1); text[i] != ']'; i = jsontext.SkipSpace(text, i+1) {
		end := jsontext.ScanValue(text, i, 0)
		if n == 0 {
			return jsonOrNull(text[i:end])
		}
		n--
		if i = jsontext.SkipSpace(text, end); text[i] != ',' {
			break
		}
	}
	return Null
}

func jsonOrNull(text string) Value {
	if text == "null" {
		return Null
	}
	return JSON(text)
}

// Text returns a JSON string without its quotes and escapes, any other JSON value as it is written.
func Text(text string) string {
	if !strings.HasPrefix(text, `"`) {
		return text
	}
	if text = text[1 : len(text)-1]; strings.IndexByte(text, '\\') < 0 {
		return text
	}
	return string(jsontext.AppendUnescaped(make([]byte, 0, len(text)), text))
}
