package recipe

import (
	"slices"
	"strings"
	"testing"
)

func TestEach(t *testing.T) {
	l := opened(t)
	add := func(text string) error { _, err := l.add("mine.yaml", []byte(text)); return err }
	if err := add("recipes:\n  x/$a-$b:\n    each: {a: [1, 2], b: [{b: p, c: 0.5}, {b: q, c: 0.25}]}\n    except: x/2-q\n    from: demo/g\n    rate: $c\n    title: T $a\n"); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range l.Names(Recipes) {
		if strings.HasPrefix(name, "x/") {
			names = append(names, name)
		}
	}
	if want := []string{"x/1-p", "x/1-q", "x/2-p"}; !slices.Equal(names, want) {
		t.Errorf("%q; expected %q", names, want)
	}
	if r, err := l.Recipe("x/1-q"); err != nil || r.LearningRate != 0.25 || r.Title != "T 1" {
		t.Errorf("%+v, %v", r, err)
	}
	for want, text := range map[string]string{
		"a of each is no list": "recipes:\n  y/$a:\n    each: {a: 1}\n    from: demo/g\n",
		"is there already":     "recipes:\n  y/z:\n    each: {a: [1, 2]}\n    from: demo/g\n",
		`unknown key "excep"`:  "recipes:\n  y/$a:\n    each: {a: [1, 2]}\n    excep: x\n    from: demo/g\n",
	} {
		if err := add(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	rows, err := l.matching([]Row{{Recipe: "x/*"}, {Recipe: "demo/g"}})
	if err != nil || len(rows) != 4 || rows[3].Recipe != "demo/g" {
		t.Errorf("%+v, %v", rows, err)
	}
}
