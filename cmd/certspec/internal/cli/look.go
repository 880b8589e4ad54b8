package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"reflect"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/internal/textfile"
	"github.com/certspec/certspec/rs/noise"
)

// lookRecord is the file of a look that the shards of a run share.
type lookRecord struct {
	Format  string           `json:"format"`
	Version int              `json:"version"`
	Model   classifier.Info  `json:"model"`
	Data    string           `json:"data"`
	Sigma   float64          `json:"sigma"`
	Noise   noise.Law        `json:"noise"`
	Block   int              `json:"block"`
	First   *preflight.First `json:"first"`
}

const lookFormat = "certspec-look"

// LookOnce is LookFirst for the shards of a run: the one that finds no file makes it, and the others
// read it. A look at another model, engine, noise or set, as on another kind of machine, is not taken.
func LookOnce(ctx context.Context, m classifier.Classifier, images *dataset.Images, use preflight.Use,
	path string) (*preflight.First, error) {
	if path == "" {
		return LookFirst(ctx, m, images, use)
	}
	info, err := m.Info()
	if err != nil {
		return nil, err
	}
	now := lookRecord{lookFormat, 1, info, images.Name, use.Sigma, use.Noise, use.Block, nil}
	text, err := textfile.Read(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	if !missing {
		var was lookRecord
		if err := json.Unmarshal(text, &was); err != nil || was.Format != lookFormat {
			return nil, Usagef("--look %s: expected a file that certspec made; name another", path)
		}
		first := was.First
		if was.First = nil; reflect.DeepEqual(was, now) && first != nil {
			Say("preprocessing: %s", first.Preprocessing)
			Say("look: %d answers compared before, %s", first.Function.Comparisons, path)
			return first, nil
		}
		Say("--look %s is of another model, engine, noise or set: looking again", path)
	}
	first, err := LookFirst(ctx, m, images, use)
	if err != nil || !missing {
		return first, err
	}
	now.First = first
	if text, err = json.MarshalIndent(now, "", "  "); err != nil {
		return nil, err
	}
	return first, atomicfile.Write(path, append(text, '\n'))
}
