package results

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/study"
)

// Merge joins the folders of shards into one. What several of them hold must be equal, weights,
// ledgers and radii alike; the times on cards and beside ledgers come from the first. It returns
// how many files are new.
//
// Errors: a folder that is for something else, as *MismatchError; two files of one name that
// differ, by name; a network that was trained in two shards with different weights, as engines or
// instruction sets differ; that of ctx, after which the same call goes on.
func Merge(ctx context.Context, out string, folders []string) (added int, err error) {
	if len(folders) == 0 {
		return 0, fmt.Errorf("experiment: no folders to merge")
	}
	release, err := store.Lock(out)
	if err != nil {
		return 0, err
	}
	defer release()
	var m *store.Manifest
	for _, folder := range folders {
		one, err := store.ReadManifest(folder)
		if err != nil {
			return 0, err
		}
		if m == nil {
			m, err = store.Joined(out, one)
		} else {
			err = m.Join(folder, one)
		}
		if err == nil {
			err = m.LearnFrom(one)
		}
		if err != nil {
			return 0, err
		}
	}
	if err := errors.Join(m.LearnLists(ctx, out, dataset.Open), m.SealAll(out)); err != nil {
		return 0, err
	}
	for _, folder := range folders {
		n, err := mergeFolder(ctx, m, out, folder)
		if err != nil {
			return added, err
		}
		added += n
	}
	if err := m.LearnLists(ctx, out, dataset.Open); err != nil {
		return added, err
	}
	for i := range m.Models {
		if _, err := m.Radii(out, &m.Models[i]); err != nil {
			return added, err
		}
	}
	if err := errors.Join(joinRecords(m, out), KeepAreas(m, out), m.KeepLists(out)); err != nil {
		return added, err
	}
	return added, m.Write(out)
}

// merged are the folders inside that travel.
var merged = []string{"models", "adapted", "ledgers", "calibration", "ood", "predictions", "results"}

func mergeFolder(ctx context.Context, m *store.Manifest, out, folder string) (added int, err error) {
	for _, part := range merged {
		err := filepath.WalkDir(filepath.Join(folder, part), func(path string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil || d.IsDir() {
				if os.IsNotExist(err) {
					return nil
				}
				return err
			}
			name, err := filepath.Rel(folder, path)
			base := filepath.Base(name)
			if err != nil || strings.HasPrefix(base, ".") || strings.HasSuffix(base, ".checkpoint") ||
				base == store.SealsFile {
				return err
			}
			if err := errors.Join(plainFile(folder, name), plainFile(out, name)); err != nil {
				return err
			}
			n, err := mergeFile(m, part, filepath.Join(out, name), path)
			added += n
			return err
		})
		if err != nil {
			return added, fmt.Errorf("experiment: %w", err)
		}
	}
	return added, nil
}

// plainFile refuses a name below a folder that leads through a symlink, and what is no regular file.
func plainFile(folder, name string) error {
	path := folder
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		path = filepath.Join(path, part)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.Mode().IsRegular() && !info.IsDir():
			return fmt.Errorf("%s is no regular file (%v); merging copies no symlinks and devices: put the file "+
				"itself there",
				path, info.Mode().Type())
		}
	}
	return nil
}

func mergeFile(m *store.Manifest, part, to, from string) (added int, err error) {
	write := atomicfile.Write
	if part == "results" {
		write = store.Keep
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return 0, err
	}
	there, err := os.ReadFile(to)
	switch {
	case os.IsNotExist(err):
		return 1, write(to, text)
	case err != nil:
		return 0, err
	case bytes.Equal(text, there):
		return 0, nil
	}
	kind := filepath.Base(filepath.Dir(to))
	switch {
	case strings.HasSuffix(to, ".safetensors"):
	case kind == "results" && (strings.HasSuffix(to, store.SharesSuffix) || strings.HasSuffix(to, ".columns.csv")):
		return mergeColumns(to, there, from, text)
	case strings.HasSuffix(to, ".ood"):
		if open, err := measure.Unfinished(to); open { // a shard that was interrupted had begun it
			return 1, errors.Join(err, atomicfile.Write(to, text))
		}
		if open, err := measure.Unfinished(from); open {
			return 0, err
		}
	case part == "predictions" && filepath.Ext(to) == ".npy":
	case filepath.Ext(to) == measure.PointsEnds: // points of attacks go with their file
		return 0, nil
	case kind == "results" && strings.HasSuffix(to, measure.AreasSuffix):
		var a, b measure.Areas
		_, err1 := measure.ReadJSON(to, &a)
		_, err2 := measure.ReadJSON(from, &b)
		if err := errors.Join(err1, err2, a.Join(&b)); err != nil {
			return 0, err
		}
		return 0, store.KeepJSON(to, a)
	case kind == "results" && !isOfModel(m, to): // of a measure
	case kind == "results" && filepath.Ext(to) == ".csv":
		return mergeColumns(to, there, from, text)
	case strings.HasSuffix(to, ".ledger"):
		closed, err := measure.LedgerClosed(to)
		if err != nil {
			return 0, err
		}
		if !closed { // a shard that was interrupted had begun it
			return 1, atomicfile.Write(to, text)
		}
		if closed, err = measure.LedgerClosed(from); err != nil || !closed {
			return 0, err
		}
	case strings.HasSuffix(to, ".scores"): // they go with their ledger
		a, err1 := os.ReadFile(strings.TrimSuffix(to, ".scores"))
		b, err2 := os.ReadFile(strings.TrimSuffix(from, ".scores"))
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			return 0, nil
		}
		return 1, atomicfile.Write(to, text)
	case kind == "results" && filepath.Ext(to) == ".json": // an origin: the one that knows of more
		var a, b store.Origin
		if _, err := measure.ReadJSON(to, &a); err != nil {
			return 0, err
		}
		if _, err := measure.ReadJSON(from, &b); err != nil || b.Samples <= a.Samples {
			return 0, err
		}
		return 1, write(to, text)
	default: // times, cards with times on them, logs of training
		return 0, nil
	}
	return 0, fmt.Errorf("%s and %s differ: the networks or the engines of the shards are not the same", to, from)
}

// isOfModel reports whether a file is a model's own, and not that of a measure: results/MODEL.csv
// or .json.
func isOfModel(m *store.Manifest, file string) bool {
	base := filepath.Base(file)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	return slices.ContainsFunc(m.Models, func(o recipe.Model) bool { return o.Slug() == base })
}

// mergeColumns adds the columns that another file of one network and form has.
func mergeColumns(to string, there []byte, from string, here []byte) (added int, err error) {
	form, _ := study.FormOf(filepath.Base(to))
	mine, err := form.ReadColumns(there, "")
	if err != nil {
		return 0, fmt.Errorf("%s: %w", to, err)
	}
	theirs, err := form.ReadColumns(here, "")
	if err != nil {
		return 0, fmt.Errorf("%s: %w", from, err)
	}
	for _, c := range theirs {
		k := slices.IndexFunc(mine, func(o *study.Column) bool { return o.Key == c.Key })
		one := []*study.Column{c}
		switch {
		case k < 0:
			mine, added = append(mine, c), 1
		case !bytes.Equal(form.Text(mine[k:k+1]), form.Text(one)):
			return 0, fmt.Errorf("%s and %s differ in %s", to, from, form.Heading(c.Set, c.Name))
		}
	}
	return added, store.Keep(to, form.Text(mine))
}
