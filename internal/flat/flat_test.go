package flat

import (
	"reflect"
	"testing"
)

func TestCopy(t *testing.T) {
	type part struct {
		A int
		B []string
		c int
	}
	type whole struct {
		X string
		B []string
		A int
		c int
	}
	w := whole{X: "x", c: 3}
	if Copy(&w, part{A: 1, B: []string{"b"}, c: 9}); !reflect.DeepEqual(w, whole{"x", []string{"b"}, 1, 3}) {
		t.Errorf("%+v", w)
	}
	p := part{c: 9}
	if Copy(&p, w); !reflect.DeepEqual(p, part{1, []string{"b"}, 9}) {
		t.Errorf("%+v", p)
	}
	for _, c := range []struct {
		whole, part any
		but         []string
		ok          bool
	}{
		{whole{}, part{}, nil, true}, {part{}, whole{}, nil, false}, {part{}, whole{}, []string{"X"}, true},
		{struct{ A string }{}, struct{ A int }{}, nil, false},
	} {
		if err := Check(c.whole, c.part, c.but...); (err == nil) != c.ok {
			t.Errorf("%T, %T: %v", c.whole, c.part, err)
		}
	}
}
