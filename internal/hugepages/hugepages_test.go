package hugepages

import (
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	const (
		madvise = "always [madvise] never\n"
		both    = huge + ":" + keep
	)
	for name, c := range map[string]struct {
		enabled    string
		have, want []string
	}{
		"nothing there":     {madvise, []string{"A=1"}, []string{"A=1", "GLIBC_TUNABLES=" + both}},
		"always":            {"[always] madvise never\n", nil, []string{"GLIBC_TUNABLES=" + both}},
		"other settings":    {madvise, []string{"GLIBC_TUNABLES=glibc.malloc.check=3", "A="}, []string{"A=", "GLIBC_TUNABLES=glibc.malloc.check=3:" + both}},
		"as the user likes": {madvise, []string{"GLIBC_TUNABLES=glibc.malloc.hugetlb=0"}, nil},
		"again":             {madvise, []string{"GLIBC_TUNABLES=a=b:" + both}, nil},
		"again, small":      {"always madvise [never]\n", []string{"GLIBC_TUNABLES=" + keep}, nil},
		"off":               {madvise, []string{"CERTSPEC_HUGE_PAGES=off"}, nil},
		"on":                {madvise, []string{"CERTSPEC_HUGE_PAGES=on"}, []string{"CERTSPEC_HUGE_PAGES=on", "GLIBC_TUNABLES=" + both}},
		"never":             {"always madvise [never]\n", nil, []string{"GLIBC_TUNABLES=" + keep}},
		"no such file":      {"", nil, []string{"GLIBC_TUNABLES=" + keep}},
	} {
		if got := environment(c.have, c.enabled); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q; expected %q", name, got, c.want)
		}
	}
}
