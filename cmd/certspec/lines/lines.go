// Package lines is "certspec lines".
package lines

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/lines"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("lines", "Compare accuracy under a shift with accuracy without it, in probit units",
		`Whether a model is robust or merely accurate: accuracy under a distribution shift against accuracy without it, in
probit units, with the line of a baseline and what stands above it (effective robustness), certified accuracies
included.`, fitCommand(), cli.ForPapers(tableCommand()), cli.ForPapers(agreeCommand()))
}

// source says which file of models is read, and how.
type source struct {
	in       string
	unit     lines.Unit
	images   int
	numbers  []string
	labels   []string
	leaveOut []string
}

func (s *source) flags(f *cli.Flags) {
	f.File(&s.in, "in", "file of models: RobustNets' .json, records (.jsonl), the ImageNet testbed's, "+
		"RobustBench's, or any other .csv with a column model", "json", "jsonl", "csv")
	cli.Choice(f, &s.unit, "unit", "",
		"unit of bare numbers in a .csv, share or percent; cells as 88/100 or 88% say it themselves", "share",
		"percent")
	f.IntVar(&s.images, "images", 0, "images behind each accuracy of a .csv that does not say it; 0: unknown")
	f.Words(&s.numbers, "numbers", nil, "columns of a .csv that are no accuracies", nil)
	f.Words(&s.labels, "labels", nil, "columns of a .csv that are labels though they look like numbers", nil)
	f.Words(&s.leaveOut, "leave-out", nil, "models to leave out", nil)
}

// read reads the models by the file's ending, and a .csv by its columns.
func (s *source) read() (lines.Models, error) {
	models, err := s.open()
	if err != nil {
		return nil, err
	}
	return models.Without(s.leaveOut...)
}

func (s *source) open() (lines.Models, error) {
	if !slices.Contains([]string{".json", ".jsonl", ".csv"}, strings.ToLower(filepath.Ext(s.in))) {
		return nil, cli.Usagef("--in %s: expected a name that ends in .json, .jsonl or .csv", s.in)
	}
	models, err := lines.Read(s.in, lines.CSV{Unit: s.unit, Images: map[string]int{"": s.images}, Numbers: s.numbers,
		Labels: s.labels})
	var field *lines.FieldError
	switch {
	case errors.Is(err, lines.ErrImages):
		err = cli.Usagef("--images is missing: %w", err)
	case errors.As(err, &field) && field.Field != "" && strings.EqualFold(filepath.Ext(s.in), ".csv"):
		err = fmt.Errorf("%w (--unit says what bare numbers mean; --numbers and --labels name columns that are no "+
			"accuracies)", err)
	}
	return models, err
}
