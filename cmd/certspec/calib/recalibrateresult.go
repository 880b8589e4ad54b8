package calib

import (
	"fmt"
	"io"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/calib/labelled"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/calib/recalibration"
)

// recalibrated is the output of "calib recalibrate" of a set of samples.
type recalibrated struct {
	N        int                  `json:"n"`
	Map      *calib.Recalibration `json:"map"`
	Words    string               `json:"words"`
	FittedOn string               `json:"fitted_on"`
	// digest of the ledger, or path of the CSV file, that it was fitted on
	Source  string                 `json:"source"`
	Data    *labelled.Images       `json:"data,omitempty"` // of a ledger
	FittedN int                    `json:"fitted_n,omitempty"`
	Judged  string                 `json:"judged_on"`
	Joint   *jointTerms            `json:"joint,omitempty"`
	Rows    []recalibration.Judged `json:"rows"` // as they are, recalibrated, constant
	Useless bool                   `json:"no_better_than_a_constant"`

	FittedSaturated int `json:"fitted_saturated,omitempty"` // see calib.Saturated; of an isotonic map 0
	Saturated       int `json:"saturated,omitempty"`        // of those that are judged
}

// jointTerms say what the joint claim and that for the population take.
type jointTerms struct {
	Delta      float64  `json:"delta"`
	Attempted  int      `json:"attempted"`
	Failures   int      `json:"failures"`
	Population *float64 `json:"population,omitempty"` // to be added for the population; nil: nothing is claimed for it
}

// judge fits and judges at one radius.
func (o *recalibrateOptions) judge(s *sampleFile, part fitPart) (*recalibrated, error) {
	if s.Confidence == nil && s.Lower == nil {
		return nil, fmt.Errorf("%s: no columns confidence, or lower and upper", s.name)
	}
	r := &recalibrated{N: len(s.Correct), Map: part.saved, FittedOn: part.from, Source: part.source, Data: part.data,
		Judged: s.name}
	accuracy, err := calib.Accuracy(s.Correct)
	if err != nil {
		return nil, err
	}
	if r.Map == nil {
		if o.objective == calib.CertifiedBrierLoss && part.table.Lower == nil {
			return nil, cli.Usagef("--objective certified-brier: no columns lower and upper for %s; use --objective nll",
				part.from)
		}
		if o.objective == calib.NLL && part.table.Confidence == nil {
			return nil, cli.Usagef("--objective nll: %s has no column confidence; use --objective certified-brier",
				part.from)
		}
		if r.Map, err = calib.FitRecalibration(o.method, o.objective, part.table.Correct, part.table.Confidence,
			part.table.Lower, part.table.Upper); err != nil {
			return nil, fmt.Errorf("%s: %w", part.from, err)
		}
		r.FittedN = len(part.table.Correct)
		if r.Map.Method != calib.Isotonic {
			r.FittedSaturated = calib.Saturated(part.table.Confidence)
		}
		if accuracy, err = calib.Accuracy(part.table.Correct); err != nil {
			return nil, err
		}
	}
	r.Words = r.Map.String()
	if r.Map.Method != calib.Isotonic {
		r.Saturated = calib.Saturated(s.Confidence)
	}
	failures := -1
	if s.at != nil && s.at.fails > 0 {
		if failures, err = calib.FailuresAtMost(s.at.of, s.at.fails, o.delta); err != nil {
			return nil, err
		}
		r.Joint = &jointTerms{Delta: o.delta, Attempted: s.at.of, Failures: failures}
		if o.population {
			addend, err := calib.ForPopulation(0, len(s.Correct), o.delta)
			if err != nil {
				return nil, err
			}
			r.Joint.Population = &addend
		}
	}
	r.Rows, r.Useless, err = recalibration.Judge(r.Map, accuracy, s.Table, s.bins, failures)
	return r, err
}

func (r *recalibrated) print(out io.Writer) error {
	w := cli.Columns(out)
	cli.Fprintf(w, "map\t%s\n", r.Words)
	cli.Fprintf(w, "fitted on\t%s", r.FittedOn)
	if r.FittedN > 0 {
		cli.Fprintf(w, ", %d samples", r.FittedN)
	}
	cli.Fprintf(w, "\njudged on\t%d other samples\n", r.N)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "confidences\tECE\tBrier\tresolution\tCCE\tjoint\tCBS")
	for _, row := range r.Rows {
		fmt.Fprint(w, row.Confidences)
		for _, v := range []*float64{row.ECE, row.Brier, row.Resolution, row.CCE, row.Joint, row.CBS} {
			if v == nil {
				fmt.Fprint(w, "\t–")
			} else {
				cli.Fprintf(w, "\t%.4f", *v)
			}
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Useless {
		fmt.Fprintln(out, "no better than a constant confidence at this radius")
	}
	if r.FittedSaturated+r.Saturated > 0 {
		of := ""
		if r.FittedN > 0 {
			of = fmt.Sprintf("%d of %d fitted and ", r.FittedSaturated, r.FittedN)
		}
		cli.Fprintf(out, "saturated: %s%d of %d judged confidences are 0 or 1, which the map takes as 1e-12 and "+
			"1-1e-12: far from all others, they bend it; write confidences with more digits, or fit --method "+
			"isotonic\n",
			of, r.Saturated, r.N)
	}
	if j := r.Joint; j != nil {
		cli.Fprintf(out, "joint: on these images at once with probability %g, %d of %d certificates may be false\n",
			1-j.Delta, j.Failures, j.Attempted)
		if j.Population != nil {
			cli.Fprintf(out, "population: joint + %.4f with probability %g, where images are drawn independently, "+
				"and form and objective of the map were chosen without these\n", *j.Population, 1-2*j.Delta)
		} else {
			fmt.Fprintln(out, "population: nothing is claimed; --population reads the images, and keeps equal ones "+
				"together")
		}
	}
	return nil
}
