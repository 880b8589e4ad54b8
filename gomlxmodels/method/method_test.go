package method

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/loss"
)

// Every method is made by its name, has options with a usage, takes each of them as text, and passes its own checks.
func TestEveryMethod(t *testing.T) {
	for _, e := range List() {
		m, err := New(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Name() != e.Name || e.Description == "" {
			t.Errorf("%+v makes %s", e, m.Name())
		}
		var set []string
		for _, o := range e.Options {
			if o.Key == "" || o.Usage == "" {
				t.Errorf("%s: option %+v", e.Name, o)
			}
			set = append(set, o.Key+"="+o.Value)
		}
		again, err := New(e.Name, set...)
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%s with its defaults: %+v, %v; want %+v", e.Name, again, err, m)
		}
		options, err := Options(m)
		if err != nil || len(options) > len(e.Options) {
			t.Errorf("%s: options %v, %v", e.Name, options, err)
		}
		for _, o := range e.Options {
			if _, found := options[o.Key]; !found && o.Value != "0" && o.Value != "" { // an empty option may be newer than cards
				t.Errorf("%s: no %s on the card", e.Name, o.Key)
			}
		}
	}
	if m, err := New(""); err != nil || m.Name() != defaultName {
		t.Errorf("without a name: %v, %v", m, err)
	}
}

func TestOptions(t *testing.T) {
	m, err := New("acce-act-star", "epsilon=0.5", " beta = 0.01 ", "weighted=true", "steps=4")
	if err != nil {
		t.Fatal(err)
	}
	star := m.(acceACTStar)
	if star.Epsilon != 0.5 || star.Beta != 0.01 || !star.Weighted || star.Steps != 4 || star.Noises != 8 {
		t.Errorf("%+v", star)
	}
	text, err := json.Marshal(m)
	if err != nil || !strings.Contains(string(text), `"epsilon":0.5`) || !strings.Contains(string(text), `"beta":0.01`) {
		t.Errorf("%s, %v", text, err)
	}
	if untouched, _ := New("acce-act-star"); untouched.(acceACTStar).Epsilon == 0.5 {
		t.Error("an option changed the defaults")
	}
}

// Cards and recipes from before say by a revision which start ACCE-ACT has.
func TestRevisionsOfBefore(t *testing.T) {
	for _, c := range []struct {
		name    string
		options map[string]any
		want    Method
	}{
		{"acce-act", map[string]any{"growth": 3, "weighted": false}, acceACT{}},
		{"acce-act", map[string]any{"growth": 3, "revision": 0, "weighted": true}, acceACT{}},
		{"acce-act", map[string]any{"growth": 3, "revision": 1., "weighted": false}, exactStart{}},
		{"acce-act-star", map[string]any{"growth": 3, "revision": 1, "beta": 0.5}, exactStart{}},
		{"exact-act", map[string]any{"revision": 1}, exactACT{}},
	} {
		m, err := With(c.name, c.options)
		if err != nil || reflect.TypeOf(m) != reflect.TypeOf(c.want) {
			t.Errorf("%s %v: %T, %v; want %T", c.name, c.options, m, err, c.want)
		}
		if start, is := m.(exactStart); is && (start.Growth != 3 || start.Beta > 0 != (c.options["beta"] != nil)) {
			t.Errorf("%s %v: %+v", c.name, c.options, start)
		}
	}
	if _, err := New("acce-act", "revision=1"); err == nil {
		t.Error("a revision is taken")
	}
}

func TestBadMethods(t *testing.T) {
	for want, args := range map[string][]string{
		`unknown method "hrc"; expected "hcr"`:           {"hrc"},
		`hcr: unknown option "lamda"; expected "lambda"`: {"hcr", "lamda=1"},
		`hcr: option "lambda"; expected key=value`:       {"hcr", "lambda"},
		`hcr: lambda is "x"; expected weight`:            {"hcr", "lambda=x"},
		`hcr: noises is "1.5"`:                           {"hcr", "noises=1.5"},
		`hcr: reverse_lg is "yes"`:                       {"hcr", "reverse_lg=yes"},
		"lambda is -1; expected a finite number":         {"hcr", "lambda=-1"},
		"eta is NaN":                                     {"consistency", "eta=nan"},
		"weight is +Inf":                                 {"jsd", "weight=inf"},
		"0 views":                                        {"hcr", "views=0"},
		"0 noises":                                       {"consistency", "noises=0"},
		`share of noisy rows "half"`:                     {"gaussian", "share=half"},
		"beta is 0":                                      {"macer", "beta=0"},
		"0 steps":                                        {"smoothadv", "steps=0"},
		"epsilon is -1":                                  {"smoothadv", "epsilon=-1"},
		"alpha is 1.5":                                   {"mixed", "alpha=1.5"},
		"rate is 0":                                      {"brier-act", "rate=0"},
		"warm-up of -1":                                  {"brier-act", "warm_up=-1"},
		"growth is 0.5":                                  {"acce-act", "growth=0.5"},
		"rho is 0":                                       {"acce-act", "rho=0"},
		`norm "l1"; expected l2 or linf`:                 {"smoothadv", "norm=l1"},
		"norm is linf; expected l2":                      {"acce-act", "norm=linf"},
		"hoeffding is 1":                                 {"exact-act", "hoeffding=1"},
		"method cat-rs: attack: 0 steps":                 {"cat-rs", "steps=0"},
		"method cat-rs: lambda is -1":                    {"cat-rs", "lambda=-1"},
		"method smoothmix: alpha is NaN":                 {"smoothmix", "alpha=nan"},
		"method acce-act-star: step_a is 11; expected a number in (0": {"acce-act-star", "step_a=11"},
	} {
		if m, err := New(args[0], args[1:]...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %+v, error %v; want it to say %q", args, m, err, want)
		}
	}
	var unknown *OptionError
	if _, err := New("hrc"); !errors.As(err, &unknown) {
		t.Errorf("%T is no *OptionError", err)
	}
}

// own is a method of somebody else.
type own struct {
	Needed Needs `json:"-"`
	Bad    any   `json:"bad"`
}

func (own) Name() string            { return "own" }
func (o own) Needs() Needs          { return o.Needed }
func (own) Loss(*Batch) []loss.Term { return nil }

func TestNeeds(t *testing.T) {
	adversary := &attack.Adversary{Epsilon: 1, Steps: 1, Rate: 1, Driver: func() attack.Driver { return attack.Lower{} }}
	if err := Check(own{Needed: Needs{Views: 1, Noises: 1, Adversary: adversary}}); err != nil {
		t.Error(err)
	}
	for want, needs := range map[string]Needs{
		"an adversary and 2 views":   {Views: 2, Noises: 1, Adversary: adversary},
		"adversary without a driver": {Views: 1, Noises: 1, Adversary: &attack.Adversary{Steps: 1, Rate: 1}},
		"epsilon is NaN":             {Views: 1, Noises: 1, Adversary: &attack.Adversary{Epsilon: math.NaN(), Steps: 1, Rate: 1, Driver: adversary.Driver}},
		"65 views":                   {Views: 65, Noises: 1},
		"one of images and one":      {Views: 1, Noises: 1, Adversary: adversary, Shaken: &attack.Noises{Steps: 1}},
		"noises and 2 views":         {Views: 2, Noises: 1, Shaken: &attack.Noises{Steps: 1}},
		"attack: 0 steps":            {Views: 1, Noises: 1, Shaken: &attack.Noises{}},
		"-1 random numbers":          {Views: 1, Noises: 1, Draws: -1},
	} {
		if err := Check(own{Needed: needs}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	if _, err := Options(own{Bad: math.NaN()}); err == nil || !strings.Contains(err.Error(), "method own") {
		t.Errorf("options that JSON cannot hold: %v", err)
	}
}
