package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
)

// claim of a procedure on an image: a class, rs.Abstain for none, and a radius.
type claim struct {
	Class  int
	Radius float64
}

func (c *claim) UnmarshalJSON(data []byte) error {
	var pair [2]float64
	err := json.Unmarshal(data, &pair)
	c.Class, c.Radius = int(pair[0]), pair[1]
	return err
}

// others counts the certificates of other software. A chunk has all classifiers.
func (r *soundness) others(ctx context.Context, kept *tally) error {
	python, scripts, err := pythonOf(ctx, pyenv.Soundness)
	if err != nil {
		return err
	}
	for _, name := range []string{"textbook", "ART"} {
		r.Names = append(r.Names, name)
		at := func(k string) string { return k + " | " + name }
		for chunk := kept.Counts[at(thirty[0].Name)].Chunks; chunk < r.Others/othersChunk; chunk++ {
			claims, err := r.ask(ctx, python, scripts, name, chunk)
			if err != nil {
				return errors.Join(err, kept.save())
			}
			for i, k := range thirty {
				if _, err := kept.upTo(ctx, at(k.Name), chunk+1, func(*rand.Rand) (counts, error) { return count(claims[i], r.Rows[i].Real), nil }); err != nil {
					return err
				}
			}
			if err := kept.save(); err != nil {
				return err
			}
			say("%s: %d of %d certificates of each classifier", name, (chunk+1)*othersChunk, r.Others)
		}
		for i, k := range thirty {
			cell := soundnessCell{Through: kept.Counts[at(k.Name)], Apart: 1}
			cell.PValue = r.pValue(cell)
			r.Rows[i].Found[name] = cell
		}
	}
	return nil
}

// ask lets bench/python/soundness.py certify every classifier so many times.
func (r *soundness) ask(ctx context.Context, python, scripts, procedure string, chunk int) ([][]claim, error) {
	asked, err := json.Marshal(map[string]any{
		"procedure": procedure, "seed": chunk + 1, "classifiers": thirty, "sigma": r.Sigma, "alpha": r.Alpha, "selection": stopping.DefaultSelection, "n": r.N, "trials": othersChunk,
	})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, filepath.Join(scripts, "soundness.py"))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(asked), os.Stderr
	out, err := cmd.Output()
	if err := errors.Join(ctx.Err(), err); err != nil {
		return nil, fmt.Errorf("soundness.py: %w", err)
	}
	var claims [][]claim
	if err := json.Unmarshal(out, &claims); err != nil {
		return nil, fmt.Errorf("soundness.py: %w", err)
	}
	return claims, nil
}
