package checkpoint

// widens says whether every value of a kind is a value of another kind too, and read exactly: a float64 holds integers of
// up to 53 bits, a float32 of up to 24.
func widens(was, is string) (ok bool, why string) {
	from, bits := number(was)
	to, room := number(is)
	integer := from == "int" || from == "uint"
	switch {
	case integer && is == ShapeBigInt:
		return true, ""
	case from == "" || to == "":
		return false, ""
	case from == to:
		ok = bits <= room
	case from == "uint" && to == "int":
		ok = bits < room
	case from == "int" && to == "uint":
		return false, ": it has no negative numbers"
	case integer && to == "float":
		mantissa := 53
		if room < 64 {
			mantissa = 24
		}
		if ok = bits <= mantissa; !ok {
			return false, ": not exact for large numbers"
		}
	default: // a float is no integer
		return false, ""
	}
	if !ok {
		why = ": values may not fit"
	}
	return ok, why
}

// keysGrow says why the keys of a map cannot be read as those of another, "" if they can: two keys must not become one.
func keysGrow(was, is *Shape) string {
	w, i := was.Key, is.Key
	same := w.String() == i.String()
	if was.KeyVersion > 0 || is.KeyVersion > 0 {
		switch {
		case was.KeyVersion != is.KeyVersion:
			return ": its keys have another codec"
		case same:
			return ""
		}
		// The shortest form of an integer does not depend on its type.
		from, _ := number(w.Kind)
		to, _ := number(i.Kind)
		if ok, why := widens(w.Kind, i.Kind); !ok || from == "float" || to == "float" || i.Kind == ShapeBigInt {
			return orElse(why, ": keys must keep their bytes")
		}
		return ""
	}
	if same {
		return ""
	}
	if ok, why := widens(w.Kind, i.Kind); !ok {
		return orElse(why, ": keys of another type")
	}
	return ""
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
