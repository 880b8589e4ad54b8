package onnxfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/certspec/certspec/internal/inflate"
)

// endings of names of files with a network, in small letters.
var endings = []string{".onnx", ".onnx.gz"}

// IsName tells by its ending whether a path is one of an ONNX file, packed by gzip or not.
func IsName(path string) bool { return Stem(path) != filepath.Base(path) }

// Stem is the name of an ONNX file without its folder and ending.
func Stem(path string) string {
	base := filepath.Base(path)
	for _, ending := range endings {
		if at := len(base) - len(ending); at >= 0 && strings.EqualFold(base[at:], ending) {
			return base[:at]
		}
	}
	return base
}

// ReadFile is the contents of a file, unpacked where it is packed by gzip.
func ReadFile(path string) (data []byte, packed bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	var magic [2]byte
	if _, err := io.ReadFull(f, magic[:]); err == nil && magic == [2]byte{0x1f, 0x8b} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, true, err
		}
		s, err := inflate.NewStream(f, -1)
		if err != nil {
			return nil, true, err
		}
		if data, err = io.ReadAll(s); err != nil {
			return nil, true, fmt.Errorf("unpacking it: %w", err)
		}
		return data, true, nil
	}
	data, err = os.ReadFile(path)
	return data, false, err
}
