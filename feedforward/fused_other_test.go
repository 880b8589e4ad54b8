//go:build !amd64

package feedforward

import "testing"

// eachForm tries each vector form, of which there is none here.
func eachForm(_ *testing.T, try func(form string, run func(func()))) {
	try("plain", func(f func()) { f() })
}
