package certlog

import (
	"fmt"
	"os"

	"github.com/certspec/certspec/internal/textfile"
	"github.com/certspec/certspec/rs"
)

// Results are what a ledger or a published log says of its images.
type Results struct {
	File     string
	Rows     rs.Rows
	Warnings []string
	Run      *rs.Run // of a ledger; nil: a published log
	Log      *Log    // a published log; nil: of a ledger
}

// ReadResults reads a ledger, which begins with a brace, or else a published log. An unfinished
// ledger has the images that are decided, and a warning.
//
// Errors: those of rs.Open and of Read.
func ReadResults(path string) (*Results, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &Results{File: path}
	in := textfile.NewReader(f)
	if first, err := in.Peek(1); err != nil || first[0] != '{' {
		if r.Log, err = Read(path, in); err != nil {
			return nil, err
		}
		r.Rows, r.Warnings = r.Log.Rows, r.Log.Warnings
		return r, nil
	}
	if r.Run, err = rs.Open(path); err != nil {
		return nil, err
	}
	r.Rows = r.Run.Rows
	if !r.Run.Complete() {
		r.Warnings = append(r.Warnings, fmt.Sprintf("not complete: %d of %d images", len(r.Rows), r.Run.Images()))
	}
	return r, nil
}
