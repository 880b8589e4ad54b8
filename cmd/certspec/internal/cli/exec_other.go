//go:build !unix

package cli

import (
	"errors"
	"os"
)

func inheritedPipe(int) (*os.File, error) {
	return nil, errors.New("this system has no inherited descriptors; use --exec")
}
