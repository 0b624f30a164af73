package yamlfile

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/weirstream/weir/job/yamljob/internal/text"
)

// scalar sets v from a scalar's text.
func (r *Report) scalar(n *Node, where, label string, v reflect.Value) {
	if n.Kind != Scalar {
		wanted := want(v.Type())
		if choices := r.Choices[strings.TrimSuffix(label, ": ")]; wanted == aText && choices != "" {
			wanted = "one of " + choices
		}
		r.wrong(n, where, "%swant %s, got %v", label, wanted, n.Kind)
		return
	}
	if err := set(n, v); err != nil {
		r.wrong(n, where, "%s%v", label, err)
	}
}

func want(t reflect.Type) string {
	switch {
	case t == durationType:
		return "a duration, such as 200ms, 5s or 1h"
	case t == timeType:
		return "a time in RFC 3339, such as 2013-01-01T00:00:00Z"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return aText
}

const aText = "a text"

func set(n *Node, v reflect.Value) error {
	s := n.Text
	t := v.Type()
	// "1" in quotes is a text, unless it is "${ONE}".
	quoted := n.Quoted && !n.outside
	refused := func() error { return fmt.Errorf("want %s, got %q", want(t), s) }
	switch {
	case t == durationType:
		d, err := text.ParseDuration(s)
		if err != nil {
			return refused()
		}
		v.SetInt(int64(d))
		return nil
	case t == timeType:
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return refused()
		}
		v.Set(reflect.ValueOf(at))
		return nil
	}
	if v.CanAddr() {
		if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
			return u.UnmarshalText([]byte(s))
		}
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		if s != "true" && s != "false" || quoted {
			return refused()
		}
		v.SetBool(s == "true")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, err := integer(s)
		if err != nil || v.OverflowInt(i) || quoted {
			return refused()
		}
		v.SetInt(i)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		i, err := integer(s)
		if err != nil || i < 0 || v.OverflowUint(uint64(i)) || quoted {
			return refused()
		}
		v.SetUint(uint64(i))
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || v.OverflowFloat(f) || quoted {
			return refused()
		}
		v.SetFloat(f)
	default:
		return fmt.Errorf("a value cannot be given here (%v)", t)
	}
	return nil
}

// integer reads 4096, 4_096 or 4KiB.
func integer(s string) (int64, error) {
	plain := strings.ReplaceAll(s, "_", "")
	if i, err := strconv.ParseInt(plain, 10, 64); err == nil {
		return i, nil
	}
	if s == "" || !strings.ContainsAny(s[len(s)-1:], "bB") {
		return 0, strconv.ErrSyntax
	}
	u, err := humanize.ParseBytes(s)
	if err != nil || u > 1<<62 {
		return 0, strconv.ErrRange
	}
	return int64(u), nil
}
