package nb

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/flat"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/sweep"
)

// Smoothing says how Certify, Sweep and Votes smooth a model. Only Sigma has no default.
type Smoothing struct {
	Sigma float64   // standard deviation of the noise, unit: full range of a value; > 0
	N     int       // most noise samples behind a bound; default 10,000 (of the command line: 100,000)
	Alpha float64   // bound on the probability that the claim on an image is false; default 0.001
	Rule  rs.Rule   // default rs.Staged
	Radii []float64 // of rs.Betting: the radii that are tested, ascending
	Seed  uint64    // of the noise; 0: derived from model, data and settings

	Paired     bool   // the seed comes from data and settings alone: two models meet the same noise
	KeepScores bool   // keep the scores of the class beside the ledger, for Calibration
	Ledger     string // file of the ledger, or folder of those of a sweep; default out/…
}

// fewSamples is the default of Smoothing.N: a cell is read while it runs.
const fewSamples = 10_000

func (s Smoothing) options() rs.Options {
	o := rs.Options{Sigma: s.Sigma, Alpha: s.Alpha, Rule: s.Rule, MaxSamples: s.N, Radii: s.Radii, Seed: s.Seed,
		Paired: s.Paired, Ledger: s.Ledger, Progress: Progress()}
	if o.MaxSamples == 0 && o.Rule != rs.Anytime {
		o.MaxSamples = fewSamples
	}
	if s.KeepScores {
		o.Scores = ledger.MaxScoreCells
	}
	return o
}

// Certify certifies the images of a set by randomized smoothing, and returns the run with its ledger's claims. It shows
// progress, and warns if the model only guesses. An error ends the cell.
//
// The ledger is kept in the folder out, under the names of model and data, σ, and digits of a digest of the model's
// identity, the images' content and all settings. Asked again, Certify returns at once; after an interrupt it goes on.
func Certify(m classifier.Classifier, data rs.Source, s Smoothing) *rs.Run {
	run, err := certify(m, data, s)
	end(err)
	return run
}

func certify(m classifier.Classifier, data rs.Source, s Smoothing) (*rs.Run, error) {
	ctx, o := Context(), s.options()
	if _, err := o.Plan(); err != nil {
		return nil, err
	}
	images, err := imageset.Open(ctx, data, o.Progress)
	if err != nil {
		return nil, err
	}
	if o.Ledger == "" {
		if o.Ledger, err = kept(m, images, o, nil); err != nil {
			return nil, err
		}
		o.Ledger += ".ledger"
	}
	if run, err := rs.Open(o.Ledger); err != nil || !run.Complete() {
		if ctx, err = look(ctx, m, images, o); err != nil {
			return nil, err
		}
	}
	return rs.Certify(ctx, m, data, o)
}

// kept is the path, without an ending, of what a verb keeps: all that its result depends on has a part in it.
func kept(m classifier.Classifier, images *imageset.Index, o rs.Options, more any) (string, error) {
	info, err := m.Info()
	if err != nil {
		return "", err
	}
	o.Progress = nil // which JSON does not write
	text, err := json.Marshal([]any{info, images.Digest, images.Len(), o.Settings(), o.Noise, o.Seed, o.Paired, o.Scores,
		more})
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll("out", 0o777); err != nil {
		return "", err
	}
	data, _, _ := strings.Cut(setName(images.Name), "[")
	name := fmt.Sprintf("%s-%s-s%g-%x", fileName(info.Name), fileName(data), o.Sigma, sha256.Sum256(text))
	return filepath.Join("out", name[:len(name)-64+8]), nil
}

// look looks a model over before a run, and shows what is odd about it.
func look(ctx context.Context, m classifier.Classifier, images *imageset.Index, o rs.Options) (context.Context, error) {
	const most = 64
	var places []int
	for k := range min(images.Len(), most) {
		places = append(places, k*images.Len()/min(images.Len(), most))
	}
	some, err := images.Load(ctx, places)
	if err != nil {
		return nil, err
	}
	first, err := preflight.Look(ctx, m, some, preflight.UseOf(o))
	if err != nil {
		return nil, err
	}
	for _, warning := range first.Warnings {
		if strings.Contains(warning, "guessing") {
			warning += ": model.Open(path, model.Input{Mean: …, Std: …}) says it, or a card beside the file, path.json"
		}
		Show("warning: " + warning)
	}
	return first.Witness.With(ctx), nil
}

// Sweep certifies the images as they are and under corruptions, named by themselves or as a family or group such as
// "C", at all severities; by default under those of "C". The ledgers are kept as those of Certify, in one folder. An
// error ends the cell.
func Sweep(m classifier.Classifier, data *dataset.Dataset, s Smoothing, corruptions ...string) *sweep.Sweep {
	swept, err := swept(m, data, s, corruptions)
	end(err)
	return swept
}

func swept(m classifier.Classifier, data *dataset.Dataset, s Smoothing, words []string) (*sweep.Sweep, error) {
	ctx, run := Context(), s.options()
	if _, err := run.Plan(); err != nil {
		return nil, err
	}
	if len(words) == 0 {
		words = []string{string(corrupt.C)}
	}
	names, err := corrupt.Expand(words)
	if err != nil {
		return nil, err
	}
	cells, err := sweep.Cells(names, corrupt.Setting{}, nil)
	if err != nil {
		return nil, err
	}
	images, err := data.Index(ctx, run.Progress)
	if err != nil {
		return nil, err
	}
	folder, err := kept(m, images, run, names)
	if err != nil {
		return nil, err
	}
	o := sweep.Options{Folder: cmp.Or(s.Ledger, folder)}
	flat.Copy(&o, run)
	var looked context.Context
	o.Before = func(ctx context.Context, _ sweep.Cell) (_ context.Context, err error) {
		if looked == nil {
			looked, err = look(ctx, m, images, run)
		}
		return looked, err
	}
	if err := sweep.Run(ctx, m, data, append([]sweep.Cell{{}}, cells...), o); err != nil {
		return nil, err
	}
	return sweep.Open(o.Folder)
}

// Ledger opens a ledger. An error ends the cell.
func Ledger(path string) *rs.Run {
	run, err := rs.Open(path)
	end(err)
	return run
}

// Ledgers opens a folder of ledgers of a sweep. An error ends the cell.
func Ledgers(folder string) *sweep.Sweep {
	s, err := sweep.Open(folder)
	end(err)
	return s
}

// Verify checks a ledger by itself: that all that it claims follows from its counts. An error ends the cell.
func Verify(path string) rs.Verified {
	v, err := rs.Verify(Context(), path)
	end(err)
	return v
}

// Votes draws one image, noise samples of it with the model's answers, their votes and the certified radius. The image
// is counted from 0. An error ends the cell.
func Votes(m classifier.Classifier, data *dataset.Dataset, image int, s Smoothing) *Figure {
	one, err := single(data, image)
	if end(err); err != nil {
		return nil
	}
	run, err := certify(m, one, s)
	if end(err); err != nil {
		return nil
	}
	return Method{Data: one, Model: m, Run: run}.Figure()
}

// single is the image at a place of a set, from 0.
func single(data *dataset.Dataset, image int) (*dataset.Dataset, error) {
	list, err := data.List(Context())
	if err != nil {
		return nil, err
	}
	if image < 0 || image >= list.Len() {
		return nil, fmt.Errorf("image %d of %s; expected 0 to %d", image, data, list.Len()-1)
	}
	return data.Subset(dataset.Range(list.IDs[image], list.IDs[image]+1)), nil
}
