package proxy

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Each refusal can be read back in every version, and has the error somewhere.
func TestEveryRefusalSaysItsError(t *testing.T) {
	for _, key := range Refusable {
		for version := int16(0); version <= key.Request().MaxVersion(); version++ {
			req := full(key)
			req.SetVersion(version)
			r := refusal(req, kerr.NotCoordinator)
			if r == nil {
				t.Errorf("%s: no refusal", key.Name())
				break
			}
			got, err := decodeAnswer(key, version, encodeAnswer([4]byte{}, r))
			if err != nil {
				t.Errorf("%s %d: %v", key.Name(), version, err)
				continue
			}
			if old := key == kmsg.OffsetFetch && version < 2; !has(reflect.ValueOf(got), kerr.NotCoordinator.Code) && !old {
				t.Errorf("%s %d: no error in %+v", key.Name(), version, got)
			}
		}
	}
}

// full is a request with one of everything that it may ask for.
func full(key kmsg.Key) kmsg.Request {
	req := key.Request()
	fill(reflect.ValueOf(req).Elem())
	if p, ok := req.(*kmsg.ProduceRequest); ok {
		p.Topics[0].Partitions[0].Records = nil
	}
	return req
}

// fill gives every list one element.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		}
	}
}

// has looks for an ErrorCode of this value anywhere.
func has(v reflect.Value, code int16) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && has(v.Elem(), code)
	case reflect.Slice:
		for i := range v.Len() {
			if has(v.Index(i), code) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			if v.Type().Field(i).Name == "ErrorCode" && int16(f.Int()) == code || has(f, code) {
				return true
			}
		}
	}
	return false
}
