package lines

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/textfile"
)

// ErrImages is the error of Read if neither a table nor CSV.Images says how many images are behind its cells.
var ErrImages = errors.New("RobustBench's table does not say how many images are behind a cell (5,000 of " +
	"ImageNet-C, 10,000 of CIFAR-10-C)")

// Read reads a file of models by its ending, and a .csv by its columns. It takes RobustNets' .json (ReadRobustNets),
// records in .jsonl (ReadRecords), the ImageNet testbed's .csv (ReadTestbed) and RobustBench's (ReadRobustBench, with
// the images of CSV.Images[""]). Any other .csv needs a column model (ReadCSV). The options o are for the last.
//
// Errors: another ending; ErrImages; those of the readers.
func Read(path string, o CSV) (Models, error) {
	switch ending := strings.ToLower(filepath.Ext(path)); ending {
	case ".json":
		return ReadRobustNets(path)
	case ".jsonl":
		return ReadRecords(path)
	case ".csv":
	default:
		return nil, fmt.Errorf("lines: %s: expected a name that ends in .json, .jsonl or .csv", path)
	}
	columns, err := firstColumns(path)
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(columns, "imagenetv2-matched-frequency-format-val"):
		return ReadTestbed(path)
	case columns[0] == "" && slices.Contains(columns, "gaussian_noise"): // RobustBench's first column has no name
		if o.Images[""] < 1 {
			return nil, fmt.Errorf("lines: %s: %w", path, ErrImages)
		}
		return ReadRobustBench(path, o.Images[""])
	}
	return ReadCSV(path, o)
}

// firstColumns are those that the first line of a .csv names.
func firstColumns(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lines: %w", err)
	}
	defer f.Close()
	text := make([]byte, 1<<16)
	n, _ := textfile.NewReader(f).Read(text)
	line, _, _ := strings.Cut(string(text[:n]), "\n")
	return strings.Split(strings.TrimRight(line, "\r"), ","), nil
}
