package operators

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

type (
	hiddenSum  struct{ n, sum int64 } //nolint:unused // that is the mistake
	hiddenDeep struct{ Of []map[string]*hiddenSum }
	cached     struct {
		N    int64
		memo string `cbor:"-"` //nolint:unused // may go
		_    int
		mark struct{} //nolint:unused // has nothing to lose
	}
	base      struct{ A int64 }
	embedding struct {
		base
		B int64
	}
	pointing struct {
		*base
		B int64
	}
	tree struct {
		Name string
		Kids []*tree
	}
	keyOf  struct{ User, Page string }
	keyPtr struct{ User *string }
	keyAny struct {
		User string
		Memo string `json:"-"`
	}
)

// What CBOR would lose is refused when the state is declared, and not found out by the first restore.
func TestATypeThatDoesNotComeBackIsRefused(t *testing.T) {
	declared := func(_ any, err error) error { return err }
	ctx := func() *Context { return modelContext(newModelStore()) }
	for _, c := range []struct {
		err  error
		want string
	}{
		{declared(NewValue[hiddenSum](ctx(), "s", nil)), `state "s": operators.hiddenSum.n is not exported, so a restore would lose it`},
		{declared(NewList[hiddenDeep](ctx(), "s", nil)), `state "s": operators.hiddenDeep.Of.n is not exported`},
		{declared(NewWindow[hiddenSum](ctx(), "s", nil)), "operators.hiddenSum.n is not exported"},
		{declared(NewWindow(ctx(), "s", Codec[pane[hiddenSum]](paneCodec[hiddenSum]{typed[hiddenSum](nil, "tumbling(1m0s)")}))), "operators.hiddenSum.n is not exported"},
		{declared(NewWindow(ctx(), "s", Codec[session[hiddenSum]](sessionCodec[hiddenSum]{paneCodec[hiddenSum]{typed[hiddenSum](nil, "session(1m0s)")}}))), "operators.hiddenSum.n is not exported"},
		{declared(NewValue[pointing](ctx(), "s", nil)), "operators.pointing.base: a pointer to a struct that is not exported cannot be read back"},
		{declared(NewValue[struct{ Err error }](ctx(), "s", nil)), "Err: a error cannot be read back"},
		{declared(NewMap[string, hiddenSum](ctx(), "s", nil, nil)), "operators.hiddenSum.n is not exported"},
		{declared(NewMap[hiddenSum, string](ctx(), "s", nil, nil)), "its keys: operators.hiddenSum.n is not exported"},
		{declared(NewMap[*string, string](ctx(), "s", nil, nil)), "its keys: *string, a *string, is not equal to itself once it is read back"},
		{declared(NewMap[any, string](ctx(), "s", nil, nil)), "its keys: interface {}, a interface {}, is not equal to itself"},
		{declared(NewMap[[2]keyPtr, string](ctx(), "s", nil, nil)), "operators.keyPtr[].User, a *string, is not equal to itself"},
		{declared(NewMap[keyAny, string](ctx(), "s", nil, nil)), "its keys: operators.keyAny.Memo is not kept"},

		{declared(NewValue[cached](ctx(), "s", nil)), ""},
		{declared(NewValue[embedding](ctx(), "s", nil)), ""},
		{declared(NewValue[tree](ctx(), "s", nil)), ""},
		{declared(NewValue[map[string]any](ctx(), "s", nil)), ""},
		{declared(NewMap[netip.Addr, time.Time](ctx(), "s", nil, nil)), ""},
		{declared(NewMap[keyOf, *tree](ctx(), "s", nil, nil)), ""},
		{declared(NewMap[time.Time, string](ctx(), "s", nil, nil)), ""},
	} {
		switch {
		case c.want == "" && c.err != nil:
			t.Errorf("refused: %v", c.err)
		case c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)):
			t.Errorf("got %v, want %s", c.err, c.want)
		}
	}
}

// A time is another map key once it is read back, unless it is of UTC: it is refused when it is put.
func TestATimeIsAMapKeyOnlyIfItComesBackEqual(t *testing.T) {
	store := newModelStore()
	m, err := NewMap[struct{ At time.Time }, int64](modelContext(store), "m", nil, nil)
	must0(t, err)
	useKey(m.ctx, "k")
	at := time.Now()
	for _, bad := range []time.Time{at, at.In(time.FixedZone("here", 5400))} {
		if err := m.Put(struct{ At time.Time }{bad}, 1); err == nil || !strings.Contains(err.Error(), "a time needs .UTC()") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	must0(t, m.Put(struct{ At time.Time }{at.UTC()}, 1))
}
