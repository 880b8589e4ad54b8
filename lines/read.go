package lines

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/textfile"
)

// ErrImages is the error of Read if neither a table nor CSV.Images says how many images are behind its cells.
var ErrImages = errors.New("RobustBench's table does not say how many images are behind a cell (5,000 of " +
	"ImageNet-C, 10,000 of CIFAR-10-C)")

// Read reads a file of models by its ending, and a .csv by its columns. It takes:
//   - RobustNets' result file (.json), whose keys become labels, accuracies in percent;
//   - records (.jsonl), a Record a line;
//   - the ImageNet testbed's table (.csv with the column imagenetv2-matched-frequency-format-val);
//   - RobustBench's table of corruptions (.csv whose first column has no name), with the images of
//     a cell as CSV.Images[""];
//   - any other .csv with a column "model": a model a line. A column with a cell that is no number
//     is a label, and so are the columns of CSV.Labels. CSV.Numbers and the eight predictors of the
//     paper, by their field names, are plain numbers. All other columns are accuracies, written k/n,
//     in percent with the sign (88.4%), or as bare numbers in CSV.Unit. A column "n" holds the
//     images behind the line's accuracies, if neither the cell nor CSV.Images says them. Blank cells
//     are missing (Models.Blank). Lines that begin with # are comments.
//
// Errors: another ending; ErrImages; a *FieldError with line and field: text that is no record or
// number, a model twice, a field that is unknown or missing, a value out of its range.
func Read(path string, o CSV) (Models, error) {
	ending := strings.ToLower(filepath.Ext(path))
	if !slices.Contains([]string{".json", ".jsonl", ".csv"}, ending) {
		return nil, fmt.Errorf("lines: %s: expected a name that ends in .json, .jsonl or .csv", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lines: %w", err)
	}
	defer f.Close()
	models, err := readFile(f, ending, o)
	if err != nil {
		return nil, err
	}
	return models, models.Check()
}

func readFile(f *os.File, ending string, o CSV) (Models, error) {
	path := f.Name()
	switch ending {
	case ".json":
		return readRobustNets(path, f)
	case ".jsonl":
		return readRecords(path, f)
	}
	columns, err := firstColumns(f)
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(columns, "imagenetv2-matched-frequency-format-val"):
		return readTestbed(path, f)
	case columns[0] == "" && slices.Contains(columns, "gaussian_noise"): // of RobustBench
		if o.Images[""] < 1 {
			return nil, fmt.Errorf("lines: %s: %w", path, ErrImages)
		}
		return readRobustBench(path, f, o.Images[""])
	}
	return readCSV(path, f, o)
}

// firstColumns are those that the first line of a .csv names; the file stands at its begin again.
func firstColumns(f *os.File) ([]string, error) {
	text := make([]byte, 1<<16)
	n, _ := textfile.NewReader(f).Read(text)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("lines: %w", err)
	}
	line, _, _ := strings.Cut(string(text[:n]), "\n")
	return strings.Split(strings.TrimRight(line, "\r"), ","), nil
}
