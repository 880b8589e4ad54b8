package corrupt

import (
	"errors"
	"testing"
)

func TestParse(t *testing.T) {
	for _, want := range []Setting{
		{Name: "fog", Severity: 3},
		{Name: "glass_blur", Severity: 2, GlassSwap: true},
		{Name: "fourier", Centre: 3, Decay: .5, Norm: 8},
		{Name: "fourier", Centre: 16, Decay: 2, Norm: 8.25},
	} {
		if got, err := Parse(want.String()); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", want, got, err, want)
		}
	}
	if got, err := Parse("fog"); err != nil || got != (Setting{Name: "fog"}) {
		t.Errorf("fog alone is %+v, %v", got, err)
	}
	for _, bad := range []string{"fog:", "fog:x", "fog:3,4", "fog:3,swap,swap", "fog:severity=3", "fog:fc=3", "fourier:3", "fourier:fc=3,fc=4", "fourier:fc=x", "fourier:swap", "fog:3,photographs"} {
		var setting *SettingError
		if got, err := Parse(bad); !errors.As(err, &setting) {
			t.Errorf("%q is %+v, %v; want a SettingError", bad, got, err)
		}
	}
	var unknown *UnknownError
	if _, err := Parse("fogg:3"); !errors.As(err, &unknown) || unknown.Nearest != "fog" {
		t.Errorf("fogg:3: %v; want an UnknownError that names fog", err)
	}
}
