package corrupt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/corrupt/shared"
)

// Parse reads a setting as String writes it: "fog:3", "glass_blur:2,swap", "fourier:fc=3,a=0.5,eps=8", the last also
// with ",archive". A name alone is a setting without strength, which New refuses. Photographs of frost have a path and
// cannot be named here.
//
// Errors: an unknown name, as *UnknownError; a part that is no strength, as *SettingError.
func Parse(text string) (Setting, error) {
	name, rest, some := strings.Cut(text, ":")
	if _, err := find(name); err != nil {
		return Setting{}, err
	}
	s := Setting{Name: name}
	if !some {
		return s, nil
	}
	seen := map[string]bool{}
	for _, part := range strings.Split(rest, ",") {
		key, value, named := strings.Cut(part, "=")
		err := s.set(key, value, named)
		if !named && key != "swap" && key != "archive" {
			key = "severity"
		}
		if err != nil || seen[key] {
			return Setting{}, &SettingError{name, fmt.Sprintf("%q in %q", part, text), s.form()}
		}
		seen[key] = true
	}
	return s, nil
}

// set takes one part of the text of a setting.
func (s *Setting) set(key, value string, named bool) (err error) {
	switch {
	case s.Name == shared.FourierName && key == "fc":
		s.Centre, err = strconv.Atoi(value)
	case s.Name == shared.FourierName && key == "a":
		s.Decay, err = strconv.ParseFloat(value, 64)
	case s.Name == shared.FourierName && key == "eps":
		s.Norm, err = strconv.ParseFloat(value, 64)
	case s.Name == shared.FourierName && key == "archive" && !named:
		s.Archive = true
	case s.Name != shared.FourierName && key == "swap" && !named:
		s.GlassSwap = true
	case s.Name != shared.FourierName && !named:
		s.Severity, err = strconv.Atoi(key)
	default:
		err = strconv.ErrSyntax
	}
	return err
}

// form says how a setting of the name is written.
func (s Setting) form() string {
	if s.Name == shared.FourierName {
		return shared.FourierName + ":fc=3,a=0.5,eps=8"
	}
	return s.Name + ":3"
}
