package rs

import (
	"fmt"

	"github.com/certspec/certspec/rs/ledger"
)

// Verified is what Verify read of a ledger in which everything holds.
type Verified struct {
	Header ledger.Header `json:"-"`
	Images int           `json:"images"`
	Looks  int           `json:"looks"`
	Copies int           `json:"copies"` // noisy copies behind the looks
	Digest string        `json:"digest"`
}

func (v Verified) String() string {
	return fmt.Sprintf("%d images, %d looks, %d noisy copies, %s", v.Images, v.Looks, v.Copies, v.Digest)
}

// Verify derives again all that follows from the counts of a closed ledger, with the code that certifies, and
// compares decimal for decimal: the digest; that the looks spend at most α and are those that the rule
// announces; class, k, n, lower bound and radius of every image; the average certified radius; the
// certified accuracies; and that a seed which is called derived is.
//
// What does not hold is a *ledger.FormatError with the line and the reason. An unfinished ledger is an
// *UnfinishedError. Whether the counts are those of the model only Replay can tell.
func Verify(path string) (Verified, error) {
	a, err := newAudit(path)
	if err != nil {
		return Verified{}, err
	}
	defer a.scan.Close()
	h := a.header
	if want := derivedSeed(h); !h.SeedChosen && h.Seed != want {
		return Verified{}, a.errorf(1, "header: the seed %d is called derived, but from model, data and settings follows %d", h.Seed, want)
	}
	digest, err := a.finish(a.walk(func(ledger.Look) {}))
	if err != nil {
		return Verified{}, err
	}
	return Verified{Header: h, Images: a.images, Looks: a.looks, Copies: a.copies, Digest: digest}, nil
}
