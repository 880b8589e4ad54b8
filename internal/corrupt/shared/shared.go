// Package shared holds what corruptions and the manifests of their sets both say.
package shared

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// FourierName is the corruption of CIFAR-F.
	FourierName = "fourier"

	// The bounds of the amplitudes, of the unnormalised transform of 32×32 values in [0, 1]; other
	// sizes in proportion to the number of pixels. They stand in the authors' archive, not in the
	// paper.
	FourierLower, FourierUpper = 20.0, 200.0

	FourierSpread = 0.2 // b of U(1−b, 1+b)
)

// DrawnFrost is the sentence for captions of figures and tables with frost that no photographs were given for.
const DrawnFrost = "Frost is drawn, not cut from the photographs of the published sets."

// mostPhotographs is how many photographs are used: of the six published ones, the generator never took the last.
const mostPhotographs = 5

// PhotographFiles lists the first five PNG and JPEG files of a folder by name.
func PhotographFiles(folder string) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("corrupt: frost: %w", err)
	}
	for _, e := range entries {
		switch strings.ToLower(filepath.Ext(e.Name())) {
		case ".png", ".jpg", ".jpeg":
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	slices.Sort(files)
	return files[:min(len(files), mostPhotographs)], nil
}

// StreamVersion is part of every key: another algorithm that draws other numbers gets another version.
const StreamVersion = "v1"
