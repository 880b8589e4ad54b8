//go:build !(cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64)))

package backend

import "errors"

const (
	xlaLinked = false
	notLinked = "this program was built without XLA (no C compiler, -tags noxla, or a platform without it), which " +
		"makes networks 10 to 60 times slower; build with CGO_ENABLED=1 and without the tag"
)

func openXLA(path, options string, checked pluginCheck) (*Backend, error) {
	return nil, errors.New(notLinked)
}

func tryPlugin(path string, report func(major, minor int, platform string)) error {
	return errors.New(notLinked)
}
