package rs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/rs/ledger"
)

// Verified is a ledger in which everything holds, as Verify read it.
type Verified struct {
	Header  ledger.Header `json:"-"`
	Images  int           `json:"images"`
	Looks   int           `json:"looks"`
	Samples int           `json:"copies"` // noise samples behind the looks
	Digest  string        `json:"digest"`
	Scores  string        `json:"scores,omitempty"` // "hold" or "missing"; empty where the run kept none
}

func (v Verified) String() string {
	text := fmt.Sprintf("%s images, %s looks, %s noise samples, %s", printable.Count(v.Images),
		printable.Count(v.Looks), printable.Count(v.Samples), v.Digest)
	if v.Scores != "" {
		text += ", scores: " + v.Scores
	}
	return text
}

// Verify derives again all that follows from the counts of a closed ledger, with the code that certifies, and compares
// decimal for decimal. It checks the digest, and that a seed called derived is derived. It checks that the looks spend
// at most α and are those that the rule announces. It checks class, k, n, lower bound and radius of every image, the
// average certified radius and the certified accuracies. Scores beside the ledger are read to their end, look by look,
// and must have been closed with it. Where they are missing, all else is checked.
//
// What does not hold is a *ledger.FormatError with the line and the reason. An unfinished ledger is an
// *UnfinishedError. Only Replay can tell whether the counts are the model's.
func Verify(ctx context.Context, path string) (Verified, error) {
	a, err := newAudit(ctx, path)
	if err != nil {
		return Verified{}, err
	}
	defer a.scan.Close()
	h := a.header
	v := Verified{Header: h}
	a.scores, err = scorefile.OpenReader(path, h)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.Scores = "missing"
	case err != nil:
		return Verified{}, err
	case a.scores != nil:
		v.Scores = "hold"
		defer a.scores.Close()
	}
	digest, err := a.finish(a.walk(func(scoredLook) {}))
	if err == nil {
		err = a.scores.Finish(digest)
	}
	if err != nil {
		return Verified{}, err
	}
	v.Images, v.Looks, v.Samples, v.Digest = a.images, a.looks, a.samples, digest
	return v, nil
}
