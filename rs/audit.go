package rs

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
)

// audit walks over the looks of a ledger and derives from them what the ledger should claim.
type audit struct {
	ctx     context.Context
	scan    *ledgerio.Scanner
	header  ledger.Header
	plan    *stopping.Plan
	trial   *stopping.Trial // of the image in progress; nil before the first
	line    int             // of the last look
	images  int             // that are complete
	rows    Rows            // on them; a shard by blocks has none
	looks   int
	samples int
	scores  *scorefile.Reader // nil: not read
}

func newAudit(ctx context.Context, path string) (*audit, error) {
	scan, err := ledgerio.Scan(path)
	if err != nil {
		return nil, err
	}
	a := &audit{ctx: ctx, scan: scan, header: scan.Header(), line: 1}
	if a.plan, err = stopping.Of(a.header); err != nil {
		scan.Close()
		return nil, a.errorf(1, "header: %v", err)
	}
	return a, nil
}

func (a *audit) errorf(line int, format string, args ...any) error {
	return &ledger.FormatError{File: a.scan.File(), Line: line, Reason: fmt.Sprintf(format, args...)}
}

// walk takes all looks, gives each to see, and ends at the first record that is none, or with io.EOF.
func (a *audit) walk(see func(scoredLook)) (ledgerio.Record, error) {
	for {
		if err := a.ctx.Err(); err != nil {
			return ledgerio.Record{}, err
		}
		r, err := a.scan.Next()
		if err != nil || r.Kind != ledgerio.LookLine {
			return r, err
		}
		a.line = r.Line
		if err := a.begin(r.Look); err != nil {
			return r, a.errorf(r.Line, "%v", err)
		}
		scores, err := a.scores.Of(r.Look)
		if err == nil {
			err = ofClass(scores, a.trial)
		}
		if err != nil {
			return r, err
		}
		if err := a.take(r.Look); err != nil {
			return r, a.errorf(r.Line, "%v", err)
		}
		see(scoredLook{r.Look, scores})
	}
}

// begin makes the trial of the image of a look the one in progress.
func (a *audit) begin(l ledger.Look) error {
	a.looks++
	a.samples += (l.To - l.From) * a.header.Block
	if a.trial == nil || a.trial.Image != l.Image {
		switch {
		case a.trial != nil && !a.trial.Done():
			return fmt.Errorf("image %d is not decided, but image %d follows", a.trial.Image, l.Image)
		case a.images == a.share():
			return fmt.Errorf("image %d is one more than the %d that the header announces", l.Image, a.images)
		case l.Label >= a.header.Model.Classes:
			return fmt.Errorf("image %d has label %d, the model has the classes 0 to %d", l.Image, l.Label,
				a.header.Model.Classes-1)
		}
		a.trial = a.plan.Trial(l.Image, l.Label)
	}
	return nil
}

// take checks that the rule announced a look, and judges it.
func (a *audit) take(l ledger.Look) error {
	if err := a.trial.Add(l); err != nil {
		return err
	}
	if a.trial.Done() {
		a.images++
		if !byBlocks(a.header) {
			a.rows = append(a.rows, rowOf(a.trial))
		}
	}
	return nil
}

// share is the number of images that a closed ledger has.
func (a *audit) share() int { return shareOf(a.header.Shard, a.header.Data.Images) }

// complete reports whether all images are decided.
func (a *audit) complete() bool { return a.images == a.share() }

// claims are the proofs of the looks.
func (a *audit) claims() ledger.Claims {
	return (&Run{Header: a.header, Rows: a.rows}).claims()
}

// finish takes the record behind the looks, reads from it to the end, and compares every number with what the looks
// prove. The error of a ledger that is not closed is an *UnfinishedError.
func (a *audit) finish(r ledgerio.Record, err error) (digest string, _ error) {
	if err == nil && r.Kind == ledgerio.ClaimsLine && !a.complete() {
		return "", a.errorf(r.Line, "the ledger is closed, but %d of %d images are decided", a.images, a.share())
	}
	left := a.claims()
	for ; err == nil; r, err = a.scan.Next() {
		var wrong string
		switch r.Kind {
		case ledgerio.ClaimLine:
			wrong = differentClaim(r.Claim, left.Images[0])
			left.Images = left.Images[1:]
		case ledgerio.ACRLine:
			if r.Decimal != left.ACR || r.Count != left.Labelled {
				wrong = fmt.Sprintf("the average certified radius is %s over %d labelled images; from the claims "+
					"follows %q over %d",
					r.Decimal, r.Count, left.ACR, left.Labelled)
			}
			left.ACR = ""
		case ledgerio.CertifiedLine:
			if len(left.Certified) == 0 {
				wrong = fmt.Sprintf("certified accuracy at %s, beyond those that the rule states", r.Decimal)
			} else if want := left.Certified[0]; r.Decimal != want.Radius || r.Count != want.Count {
				wrong = fmt.Sprintf("%d images are certified at %s; from the claims follow %d at %s", r.Count,
					r.Decimal, want.Count, want.Radius)
			} else {
				left.Certified = left.Certified[1:]
			}
		case ledgerio.DigestLine:
			if left.ACR != "" || len(left.Certified) > 0 {
				wrong = "the average certified radius or certified accuracies are missing before the digest"
			}
			digest = r.Digest
		}
		if wrong != "" {
			return "", a.errorf(r.Line, "%s", wrong)
		}
	}
	if err != io.EOF {
		return "", err
	}
	if digest == "" || a.scan.Torn() {
		return "", &UnfinishedError{File: a.scan.File(), Line: a.line, Decided: a.images, Images: a.share()}
	}
	return digest, nil
}

// UnfinishedError says that a ledger is not closed, so that it claims nothing.
type UnfinishedError struct {
	File            string
	Line            int // behind which its claims would stand
	Decided, Images int // images
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("ledger %s: line %d: not closed, %d of %d images are decided: it claims nothing until its "+
		"run is finished",
		e.File, e.Line, e.Decided, e.Images)
}

// differentClaim says what is wrong with a claim; it is empty where nothing is.
func differentClaim(got, want ledger.Claim) string {
	for _, f := range []struct{ name, got, want string }{
		{"class", strconv.Itoa(got.Class), strconv.Itoa(want.Class)},
		{"k", strconv.Itoa(got.K), strconv.Itoa(want.K)},
		{"n", strconv.Itoa(got.N), strconv.Itoa(want.N)},
		{"lower bound", got.Lower, want.Lower},
		{"radius", got.Radius, want.Radius},
	} {
		if f.got != f.want {
			return fmt.Sprintf("claim on image %d: %s %s; from its counts follows %s", got.Image, f.name, f.got, f.want)
		}
	}
	return ""
}
