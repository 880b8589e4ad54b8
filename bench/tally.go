package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"time"

	"github.com/certspec/certspec/internal/atomicfile"
)

// tally is the file of a long simulation: sums that grow chunk by chunk, so that it may be stopped and continued. What a chunk counts follows
// from settings, name and number of the chunk, whenever it is drawn.
type tally struct {
	path  string
	saved time.Time

	Settings string            `json:"settings"`
	Counts   map[string]counts `json:"counts"`
}

type counts struct {
	Chunks  int    `json:"chunks"`
	Trials  int    `json:"trials"`
	Claims  int    `json:"claims"` // trials without an abstention
	False   int    `json:"false"`
	Refused string `json:"refused,omitempty"` // why there is nothing to count
}

// openTally reads the file, or begins one; "" keeps nothing.
func openTally(path, settings string) (*tally, error) {
	t := &tally{path: path, saved: time.Now(), Settings: settings, Counts: map[string]counts{}}
	if path == "" {
		return t, nil
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("--state %s: %w", path, err)
	}
	if t.Settings != settings {
		return nil, fmt.Errorf("--state %s holds a run with %s, and this one has %s; expected another file or the same settings", path, t.Settings, settings)
	}
	return t, nil
}

// upTo counts chunks until there are as many as asked for. It ends before the chunk under way where ctx ends.
func (t *tally) upTo(ctx context.Context, name string, chunks int, one func(random *rand.Rand) (counts, error)) (counts, error) {
	sum := t.Counts[name]
	for sum.Chunks < chunks && sum.Refused == "" {
		c, err := one(t.random(name, sum.Chunks))
		if err := errors.Join(ctx.Err(), err); err != nil {
			return sum, errors.Join(err, t.save())
		}
		sum = counts{sum.Chunks + 1, sum.Trials + c.Trials, sum.Claims + c.Claims, sum.False + c.False, c.Refused}
		t.Counts[name] = sum
		if time.Since(t.saved) > 5*time.Second {
			if err := t.save(); err != nil {
				return sum, err
			}
		}
	}
	return sum, nil
}

// random is the stream of a chunk.
func (t *tally) random(name string, chunk int) *rand.Rand {
	seed := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", t.Settings, name, chunk))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(seed[:]), binary.BigEndian.Uint64(seed[8:])))
}

func (t *tally) save() error {
	t.saved = time.Now()
	if t.path == "" {
		return nil
	}
	data, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	return atomicfile.Write(t.path, append(data, '\n'))
}
