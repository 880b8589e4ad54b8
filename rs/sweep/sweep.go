// Package sweep certifies one model on many corrupted forms of a data set, each in its own ledger in one folder, and
// reads such folders again.
package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/flat"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
)

// Cell is one corruption at one strength. The zero Cell is the clean set.
type Cell struct {
	Corruption string // "fog", or "fourier_fc3_a0.5" as the files of CIFAR-F are named
	Severity   int    // of "fourier", the norm ε
	Setting    corrupt.Setting
}

// clean is the name of the ledger of the images as they are.
const clean = "clean"

const extension = ".ledger"

// String names the cell as its ledger is named: "fog-3", or "clean".
func (c Cell) String() string {
	if c.Corruption == "" {
		return clean
	}
	return fmt.Sprintf("%s-%d", c.Corruption, c.Severity)
}

// Cells lists the strengths of corruptions, given by name; for those of CIFAR-F, all rings and decays. The setting
// gives the options of the corruptions that know them. The severities, which may be nil for all, are numbered as in
// corrupt.Info.
//
// Errors: an unknown name, as *corrupt.UnknownError; a severity that none of the corruptions has, as
// *corrupt.SettingError.
func Cells(names []string, options corrupt.Setting, severities []int) ([]Cell, error) {
	var cells []Cell
	used := map[int]bool{}
	for _, name := range names {
		s := corrupt.Setting{Name: name}
		switch name {
		case "glass_blur":
			s.GlassSwap = options.GlassSwap
		case "frost":
			s.Photographs = options.Photographs
		}
		files, err := corrupt.Files(s)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			for _, setting := range file.Settings {
				severity := cmp.Or(setting.Severity, int(setting.Norm))
				if severities == nil || slices.Contains(severities, severity) {
					cells = append(cells, Cell{strings.TrimSuffix(file.Name, ".npy"), severity, setting})
					used[severity] = true
				}
			}
		}
	}
	for _, severity := range severities {
		if !used[severity] {
			return nil, &corrupt.SettingError{Name: strings.Join(names, ", "), What: fmt.Sprintf("severity %d",
				severity), Expected: "1 to 5; of fourier 8, 10 or 12"}
		}
	}
	return cells, nil
}

// Options says what to certify in every cell.
type Options struct {
	Folder      string // of the ledgers
	CorruptSeed uint64 // of the corruptions

	// the same for every cell, as in rs.Options; Progress is also told what is odd about a cell
	// that was certified
	Sigma, Alpha                 float64
	Rule                         rs.Rule
	MaxSamples, Selection, Block int
	Tolerance                    float64
	Relative                     bool
	Radii                        []float64
	Futility                     float64
	Shards                       int
	OnlyCorrect                  bool
	Noise                        noise.Law
	Seed                         uint64
	Paired                       bool
	Scores                       int
	TopScores                    bool
	Shard                        rs.Shard
	Until                        rs.Until
	Workers                      int
	Memory                       int64
	Progress                     progress.Reporter

	// called before each cell that is not done, which is certified under the context that it
	// returns; may be nil
	Before func(ctx context.Context, cell Cell) (context.Context, error)
}

// of are the options of one cell.
func (o Options) of(cell Cell) (run rs.Options) {
	flat.Copy(&run, o)
	run.Ledger = filepath.Join(o.Folder, cell.String()+extension)
	return run
}

// Run certifies the cells one after the other into Folder/CELL.ledger. A complete ledger is read,
// not made again; after an interruption the same call goes on. Of a complete ledger no image is
// read or corrupted. A ledger of other settings is a *ledger.MismatchError. Cells in which no
// output of the model was finite are an error after all others are done.
func Run(ctx context.Context, model classifier.Classifier, data *dataset.Dataset, cells []Cell, o Options) error {
	if o.Folder == "" {
		return errors.New("sweep: no folder for the ledgers")
	}
	if err := os.MkdirAll(o.Folder, 0o777); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	var invalid []error
	for _, cell := range cells {
		images := data
		if cell.Corruption != "" {
			var err error
			if images, err = corrupt.Dataset(data, cell.Setting, o.CorruptSeed); err != nil {
				return err
			}
		}
		run := o.of(cell)
		certified, err := rs.Finished(ctx, model, images.List, run)
		if certified == nil && err == nil {
			within := ctx
			if o.Before != nil {
				if within, err = o.Before(ctx, cell); err != nil {
					return err
				}
			}
			certified, err = rs.Certify(within, model, images, run)
		}
		if err != nil {
			return fmt.Errorf("sweep: %v: %w", cell, err)
		}
		warning, err := certified.Outputs()
		if err != nil {
			invalid = append(invalid, fmt.Errorf("sweep: %v: %w", cell, err)) // the other cells go on
		}
		if warning != "" {
			o.Progress.Say("warning: %v: %s", cell, warning)
		}
	}
	return errors.Join(invalid...)
}

// Corrupted is a complete run on one corrupted form of a data set.
type Corrupted struct {
	Corruption string // e.g. "gaussian_noise"
	Severity   int    // e.g. 1 to 5
	Rows       rs.Rows
	Header     ledger.Header
}

// Sweep is a folder of ledgers.
type Sweep struct {
	Header     ledger.Header // of its first ledger; all but data and seed are the same in the others
	Clean      *rs.Run       // nil: not there
	Corrupted  []Corrupted   // complete runs, by name and severity
	Unfinished []string      // ledgers that are not complete, and are left out
	DrawnFrost bool          // it has frost, and no photographs were given for it
}

// Open reads the ledgers of a folder, NAME-SEVERITY.ledger and clean.ledger.
//
// Errors: no ledger, a name that is no cell, a ledger that cannot be read, and one of another model, σ, α, noise or
// rule than the first, as *ledger.MismatchError.
func Open(folder string) (*Sweep, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*"+extension))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("sweep: folder %s has no ledgers; expected some as fog-3%s", folder, extension)
	}
	s := &Sweep{}
	for k, file := range files {
		run, err := rs.Open(file)
		if err != nil {
			return nil, err
		}
		h := run.Header
		if k == 0 {
			s.Header = h
		}
		h.Data, h.Seed, h.SeedChosen = s.Header.Data, s.Header.Seed, s.Header.SeedChosen
		if err := s.Header.SameRun(file, h); err != nil {
			return nil, fmt.Errorf("sweep: %s and %s are of different runs: %w", files[0], file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), extension)
		cell, err := parse(name)
		if err != nil {
			return nil, fmt.Errorf("sweep: %s: %w", file, err)
		}
		if err := cell.check(run.Header.Data.Name); err != nil {
			return nil, fmt.Errorf("sweep: %s: %w", file, err)
		}
		switch {
		case !run.Complete():
			s.Unfinished = append(s.Unfinished, name)
		case cell.Corruption == "":
			s.Clean = run
		default:
			if data := run.Header.Data.Name; strings.Contains(data, "corrupt=frost:") && !strings.Contains(data,
				",photographs") {
				s.DrawnFrost = true
			}
			s.Corrupted = append(s.Corrupted, Corrupted{Corruption: cell.Corruption, Severity: cell.Severity,
				Rows: run.Rows, Header: run.Header})
		}
	}
	slices.SortFunc(s.Corrupted, func(a, b Corrupted) int {
		return cmp.Or(cmp.Compare(a.Corruption, b.Corruption), cmp.Compare(a.Severity, b.Severity))
	})
	return s, nil
}

// Radii of the corrupted runs, as package compare takes them.
func (s *Sweep) Radii() (all []compare.Corrupted) {
	for _, c := range s.Corrupted {
		all = append(all, compare.Corrupted{Corruption: c.Corruption, Severity: c.Severity,
			Radii: compare.OfRun(&rs.Run{Header: c.Header, Rows: c.Rows})})
	}
	return all
}

// parse reads the name of a cell.
func parse(name string) (Cell, error) {
	if name == clean {
		return Cell{}, nil
	}
	at := strings.LastIndex(name, "-")
	if at > 0 {
		if severity, err := strconv.Atoi(name[at+1:]); err == nil && severity > 0 {
			return Cell{Corruption: name[:at], Severity: severity}, nil
		}
	}
	return Cell{}, fmt.Errorf("its name is %s; expected %s, or a corruption and a severity as fog-3", name, clean)
}

// check compares the cell with the corruption that the name of the data tells, if it tells one:
// sets from other files do not.
func (c Cell) check(data string) error {
	_, change, found := strings.Cut(data, "corrupt=")
	if !found {
		return nil
	}
	setting, _, _ := strings.Cut(change, ",seed=")
	s, err := corrupt.Parse(strings.TrimSuffix(setting, ",photographs"))
	if err != nil {
		return err
	}
	of := Cell{Corruption: s.Name, Severity: s.Severity}
	if s.Severity == 0 {
		of = Cell{Corruption: strings.TrimSuffix(corrupt.FourierFile(s.Centre, s.Decay, s.Archive).Name, ".npy"),
			Severity: int(s.Norm)}
	}
	if of.String() != c.String() {
		return fmt.Errorf("it is of %s, by its name of %v; expected the same", setting, c)
	}
	return nil
}
