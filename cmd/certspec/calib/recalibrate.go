package calib

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// recalibrateOptions are what the flags of "calib recalibrate" ask.
type recalibrateOptions struct {
	sampleOptions
	method         calib.Method
	objective      calib.Objective
	fit, use, save string
	delta          float64
	json           *bool
}

// recalibrated is what "calib recalibrate" prints of a set of samples.
type recalibrated struct {
	N        int                  `json:"n"`
	Map      *calib.Recalibration `json:"map"`
	Words    string               `json:"words"`
	FittedOn string               `json:"fitted_on"`
	Source   string               `json:"source"` // digest of the ledger, or path of the CSV file, that it was fitted on
	FittedN  int                  `json:"fitted_n,omitempty"`
	Judged   string               `json:"judged_on"`
	Joint    *jointTerms          `json:"joint,omitempty"`
	Rows     []judged             `json:"rows"` // as they are, recalibrated, constant
	Useless  bool                 `json:"no_better_than_a_constant"`
}

// jointTerms say what the joint claim and that for the population take.
type jointTerms struct {
	Delta      float64 `json:"delta"`
	Attempted  int     `json:"attempted"`
	Failures   int     `json:"failures"`
	Population float64 `json:"population"` // to be added for the population
}

// judged is one line of the table.
type judged struct {
	Confidences string   `json:"confidences"`
	ECE         *float64 `json:"ece,omitempty"`
	Brier       *float64 `json:"brier,omitempty"`
	Resolution  *float64 `json:"resolution,omitempty"`
	CCE         *float64 `json:"cce,omitempty"`
	Joint       *float64 `json:"joint_cce,omitempty"`
	CBS         *float64 `json:"cbs,omitempty"`
}

func recalibrateCommand() *cobra.Command {
	var o recalibrateOptions
	cmd := &cobra.Command{
		Use:   "recalibrate {--in FILE | --ledger FILE} [--fit FILE] [flags]",
		Short: "Fit a map of the confidences on some samples, and judge it on others, with its certified calibration error",
		Long: `Fit a non-decreasing map g of the confidences, and judge it on samples that it was not fitted on. As g does not
fall, [g(l), g(u)] is a certified interval of g's confidence wherever [l, u] was one. It is fitted at each radius on the file of --fit, another
ledger or CSV file; without --fit, on the samples at even places (0, 2, …), and judged on the others. The objective certified-brier fits to the worst confidences inside the
intervals. Beside both stands a constant confidence, the accuracy of the samples that g was fitted on, and
the resolution: a calibration that is no better than the constant's says nothing.`,
		Example: "  certspec calib recalibrate --ledger out/fmnist.ledger --radii 0.1 --method platt --objective certified-brier\n" +
			"  certspec calib recalibrate --in test.csv --fit validation.csv --method isotonic --objective nll --save map.json\n" +
			"  certspec calib recalibrate --in other.csv --map map.json",
		Args: cli.NoArgs,
	}

	o.sampleOptions.flags(cmd)
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.File(&o.fit, "fit", "ledger or CSV file of the samples to fit on (default every second one of those that are named)", "ledger", "csv")
		f.File(&o.use, "map", "file of --save: apply its maps, fit nothing", "json")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.method, "method", calib.Platt, "form of the map: platt, temperature, beta or isotonic", calib.Platt, calib.Temperature, calib.Beta, calib.Isotonic)
		cli.Choice(f, &o.objective, "objective", calib.CertifiedBrierLoss, "what the fit minimises: certified-brier, the largest Brier score inside the intervals, or nll", calib.CertifiedBrierLoss, calib.NLL)
		f.Float64Var(&o.delta, "delta", 0.001, "with a ledger: the claims on all judged images at once hold with probability 1-delta, those on their population with 1-2·delta")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Written(&o.save, "save", "JSON file to write the maps to, with what they were fitted on")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "ledger", "in", "fit", "method", "objective")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *recalibrateOptions) run(cmd *cobra.Command) error {
	f := cmd.Flags()
	if !(o.delta > 0 && o.delta < 1) {
		return cli.Usagef("--delta %v: expected a number between 0 and 1", o.delta)
	}
	if o.use != "" && (f.Changed("fit") || f.Changed("method") || f.Changed("objective") || o.save != "") {
		return cli.Usagef("--map applies maps that are fitted; it excludes --fit, --method, --objective and --save")
	}
	if o.in == "-" && o.fit == "-" {
		return cli.Usagef("--in - and --fit -: expected one file at least, standard input can be read once")
	}
	sets, err := o.open(cmd)
	if err != nil {
		return err
	}
	parts, err := o.parts(cmd, sets)
	if err != nil {
		return err
	}
	if f.Changed("in") && sets[0].Lower == nil && !f.Changed("objective") {
		o.objective = calib.NLL // there are no intervals
	}
	var maps []recalibrated
	known := map[*sampleFile]fitPart{}
	for i, s := range sets {
		known[s] = parts[i]
	}
	err = eachSet(cmd, sets, *o.json, func(s *sampleFile) (answer, error) {
		r, err := o.judge(s, known[s])
		if err == nil {
			maps = append(maps, *r)
		}
		return r, err
	})
	if err != nil || o.save == "" {
		return err
	}
	text, err := json.MarshalIndent(maps, "", " ")
	if err != nil {
		return err
	}
	return cli.WriteOut(cmd, o.save, append(text, '\n'))
}

// fitPart is what the map of a set is fitted on, or comes from.
type fitPart struct {
	table        *calib.Table
	from, source string
	saved        *calib.Recalibration
}

// parts gives the samples to fit on by set, and leaves in the sets those to judge.
func (o *recalibrateOptions) parts(cmd *cobra.Command, sets []*sampleFile) ([]fitPart, error) {
	parts := make([]fitPart, len(sets))
	switch {
	case o.use != "":
		text, err := os.ReadFile(o.use)
		if err != nil {
			return nil, err
		}
		var saved []recalibrated
		if err := json.Unmarshal(text, &saved); err != nil {
			return nil, fmt.Errorf("%s: %w; expected a file of --save", o.use, err)
		}
		if len(saved) != len(sets) {
			return nil, cli.Usagef("%s has %d maps, for as many radii; there are %d to judge at", o.use, len(saved), len(sets))
		}
		for i := range sets {
			if saved[i].Map == nil {
				return nil, fmt.Errorf("%s: entry %d has no map", o.use, i+1)
			}
			if err := saved[i].Map.Check(); err != nil {
				return nil, fmt.Errorf("%s: entry %d: %w", o.use, i+1, err)
			}
			if saved[i].Source == sourceOf(o.source()) {
				return nil, fmt.Errorf("%s was fitted on %s: what is judged must not have been fitted on; expected other samples", o.use, o.source())
			}
			parts[i] = fitPart{from: saved[i].FittedOn, source: saved[i].Source, saved: saved[i].Map}
		}
		return parts, nil
	case o.fit == "":
		place, err := o.places()
		if err != nil {
			return nil, err
		}
		for i, s := range sets {
			table, judged := split(s, place)
			parts[i] = fitPart{table: table, from: "the samples at even places of " + o.source(), source: sourceOf(o.source())}
			s.Table, s.images = judged.Table, judged.images
			if s.at != nil {
				s.at.of = place.odd
			}
		}
		return parts, nil
	}
	if a, err := filepath.Abs(o.fit); err == nil {
		if b, err := filepath.Abs(o.source()); err == nil && a == b {
			return nil, cli.Usagef("--fit names the samples that are judged: leave --fit out to fit on one half of them and judge the other")
		}
	}
	fits, err := tableSets(cmd, o.fit, &o.confidences)
	if err != nil {
		return nil, err
	}
	if len(fits) != len(sets) {
		return nil, cli.Usagef("--fit has %d sets of samples, there are %d to judge: name the radii with --radii, and fit a ledger with a ledger", len(fits), len(sets))
	}
	if o.ledger != "" && fits[0].at != nil {
		if err := apart(o.fit, o.ledger); err != nil {
			return nil, err
		}
	}
	for i := range sets {
		parts[i] = fitPart{table: fits[i].Table, from: o.fit, source: sourceOf(o.fit)}
	}
	return parts, nil
}

func (o *recalibrateOptions) source() string {
	if o.ledger != "" {
		return o.ledger
	}
	return o.in
}

// sourceOf names a file of samples: a closed ledger by its digest, others by their path.
func sourceOf(path string) string {
	if l, err := ledger.Read(path); err == nil && l.Digest != "" {
		return l.Digest
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// places are the places of a ledger's labelled images, by id; nil for a CSV file, where a row has its own.
type places struct {
	of  map[int]int
	odd int
}

func (o *recalibrateOptions) places() (places, error) {
	p := places{}
	if o.ledger == "" {
		return p, nil
	}
	run, err := rs.Open(o.ledger)
	if err != nil {
		return p, err
	}
	p.of = map[int]int{}
	for _, row := range run.Rows {
		if row.Label >= 0 {
			p.odd += len(p.of) % 2
			p.of[row.Image] = len(p.of)
		}
	}
	return p, nil
}

// split gives the samples at even places, and the others.
func split(s *sampleFile, p places) (fit *calib.Table, judged *sampleFile) {
	fit, judged = &calib.Table{}, &sampleFile{Table: &calib.Table{}}
	for i := range s.Correct {
		place, to := i, fit
		if p.of != nil {
			place = p.of[s.images[i]]
		}
		if place%2 == 1 {
			to = judged.Table
			if s.images != nil {
				judged.images = append(judged.images, s.images[i])
			}
		}
		to.Correct = append(to.Correct, s.Correct[i])
		if s.Confidence != nil {
			to.Confidence = append(to.Confidence, s.Confidence[i])
		}
		if s.Lower != nil {
			to.Lower, to.Upper = append(to.Lower, s.Lower[i]), append(to.Upper, s.Upper[i])
		}
	}
	return fit, judged
}

// apart refuses two ledgers of one data set that share an image.
func apart(fit, judged string) error {
	a, err := rs.Open(fit)
	if err != nil {
		return err
	}
	b, err := rs.Open(judged)
	if err != nil {
		return err
	}
	base := func(r *rs.Run) string {
		name, _, _ := strings.Cut(r.Header.Data.Name, "[")
		return name
	}
	if base(a) != base(b) {
		return nil
	}
	seen := map[int]bool{}
	for _, row := range a.Rows {
		seen[row.Image] = true
	}
	for _, row := range b.Rows {
		if seen[row.Image] {
			return fmt.Errorf("image %d of %s is in both ledgers, %s and %s: what is judged must not have been fitted on; expected other images, or leave --fit out", row.Image, base(b), fit, judged)
		}
	}
	return nil
}

// judge fits and judges at one radius.
func (o *recalibrateOptions) judge(s *sampleFile, part fitPart) (*recalibrated, error) {
	if s.Confidence == nil && s.Lower == nil {
		return nil, fmt.Errorf("%s: no columns confidence, or lower and upper", s.name)
	}
	r := &recalibrated{N: len(s.Correct), Map: part.saved, FittedOn: part.from, Source: part.source, Judged: s.name}
	shareRight, err := calib.Accuracy(s.Correct)
	if err != nil {
		return nil, err
	}
	if r.Map == nil {
		if o.objective == calib.CertifiedBrierLoss && part.table.Lower == nil {
			return nil, cli.Usagef("--objective certified-brier: %s has no columns lower and upper; use --objective nll", part.from)
		}
		if o.objective == calib.NLL && part.table.Confidence == nil {
			return nil, cli.Usagef("--objective nll: %s has no column confidence; use --objective certified-brier", part.from)
		}
		if r.Map, err = calib.FitRecalibration(o.method, o.objective, part.table.Correct, part.table.Confidence, part.table.Lower, part.table.Upper); err != nil {
			return nil, fmt.Errorf("%s: %w", part.from, err)
		}
		r.FittedN = len(part.table.Correct)
		if shareRight, err = calib.Accuracy(part.table.Correct); err != nil {
			return nil, err
		}
	}
	r.Words = r.Map.String()
	constant := &calib.Recalibration{Method: calib.Platt, C: math.Log(shareRight / (1 - shareRight))}
	if s.at != nil && s.at.fails > 0 {
		k, err := calib.FailuresAtMost(s.at.of, s.at.fails, o.delta)
		if err != nil {
			return nil, err
		}
		addend, err := calib.ForPopulation(0, len(s.Correct), o.delta)
		if err != nil {
			return nil, err
		}
		r.Joint = &jointTerms{o.delta, s.at.of, k, addend}
	}
	for _, c := range []struct {
		name  string
		table *calib.Table
	}{{"as they are", s.Table}, {"recalibrated", r.Map.Apply(s.Table)}, {"constant", constant.Apply(s.Table)}} {
		row, err := r.row(c.name, c.table, s.bins)
		if err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, row)
	}
	worse := func(a, b *float64) bool { return a != nil && b != nil && *a >= *b*(1-1e-9) }
	own, flat := r.Rows[1], r.Rows[2]
	r.Useless = r.Map.Constant() || own.CBS != nil && worse(own.CBS, flat.CBS) || own.CBS == nil && worse(own.Brier, flat.Brier)
	return r, nil
}

func (r *recalibrated) row(name string, t *calib.Table, bins *calib.Bins) (judged, error) {
	row := judged{Confidences: name}
	if t.Lower != nil {
		b, _, err := calib.Summarize(t.Correct, nil, t.Lower, t.Upper, bins)
		if err != nil {
			return row, err
		}
		row.CCE, row.CBS = &b.CCE, &b.CBS
		if r.Joint != nil {
			j, err := calib.JointCCE(t.Correct, t.Lower, t.Upper, bins, r.Joint.Failures)
			if err != nil {
				return row, err
			}
			row.Joint = &j.Upper
		}
	}
	if t.Confidence == nil {
		return row, nil
	}
	k, err := (&sampleFile{Table: t, bins: bins}).known()
	if err != nil {
		return row, err
	}
	row.ECE, row.Brier = k.ECE, k.Brier
	resolution, err := calib.Resolution(t.Correct, t.Confidence, bins)
	row.Resolution = &resolution
	return row, err
}

func (r *recalibrated) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "map\t%s\n", r.Words)
	fmt.Fprintf(w, "fitted on\t%s", r.FittedOn)
	if r.FittedN > 0 {
		fmt.Fprintf(w, ", %d samples", r.FittedN)
	}
	fmt.Fprintf(w, "\njudged on\t%d other samples\n", r.N)
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
				fmt.Fprintf(w, "\t%.4f", *v)
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
	if j := r.Joint; j != nil {
		fmt.Fprintf(out, "joint: on these images at once with probability %g, %d of %d certificates may be false; + %.4f for the population they were drawn from, with probability %g,\nwhere no image, nor one alike, is in both parts\n",
			1-j.Delta, j.Failures, j.Attempted, j.Population, 1-2*j.Delta)
	}
	return nil
}
