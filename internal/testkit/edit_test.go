package testkit

import "testing"

func TestEdit(t *testing.T) {
	base := []byte("abcdef")
	for _, c := range []struct {
		at   uint16
		cut  uint8
		put  string
		want string
	}{{0, 0, "", "abcdef"}, {2, 1, "xy", "abxydef"}, {6, 9, "z", "abcdefz"}, {4, 9, "", "abcd"}, {7, 0, "x", "xabcdef"}} {
		if got := string(Edit(base, c.at, c.cut, []byte(c.put))); got != c.want {
			t.Errorf("%+v gives %q", c, got)
		}
	}
	if string(base) != "abcdef" {
		t.Error("the base has changed")
	}
}
