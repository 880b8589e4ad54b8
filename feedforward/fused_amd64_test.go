package feedforward

import "testing"

// eachForm tries each vector form.
func eachForm(_ *testing.T, try func(form string, run func(func()))) {
	try("AVX-512, where it is there", func(f func()) { f() })
	was, wide := fused, fused512
	defer func() { fused, fused512 = was, wide }()
	fused512 = false
	try("AVX2", func(f func()) { f() })
	fused = false
	try("plain", func(f func()) { f() })
}
