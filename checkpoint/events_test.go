package checkpoint

import (
	"reflect"
	"strings"
	"testing"
)

func TestTeeTellsEveryListenerInOrder(t *testing.T) {
	var got []string
	note := func(name string) *Listener {
		return &Listener{OnComplete: func(e CompleteEvent) { got = append(got, name) }}
	}
	l := Tee(note("log"), nil, &Listener{}, note("metrics"))
	l.OnComplete(CompleteEvent{Checkpoint: 42})
	if strings.Join(got, " ") != "log metrics" {
		t.Error(got)
	}
}

// A new event that Tee forgets would reach nobody.
func TestTeeSetsEveryFunc(t *testing.T) {
	v := reflect.ValueOf(Tee()).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsNil() {
			t.Errorf("%s is nil", v.Type().Field(i).Name)
		}
	}
}
