package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/bench/internal/linestest"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/resample"
)

// coverage is how often intervals of the package lines hold the truth, in worlds where it is known.
type coverage struct {
	Trials    int                  `json:"trials"`
	Resamples int                  `json:"resamples"`
	Studies   []studied            `json:"studies"`
	Agreement linestest.Agreements `json:"agreement"`
}

type studied struct {
	Name string     `json:"name"`
	Over lines.Over `json:"over"`
	Null bool       `json:"all_models_on_the_line"`
	linestest.Coverage
}

func coverageCommand(s *settings) *cobra.Command {
	var c coverage
	var radii bool
	cmd := &cobra.Command{
		Use:   "coverage",
		Short: "How often intervals of accuracy lines hold the truth, and call models robust that are on the line",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().IntVar(&c.Trials, "trials", 500, "worlds of each kind")
	cmd.Flags().IntVar(&c.Resamples, "resamples", 200, "resamples behind an interval")
	cmd.Flags().BoolVar(&radii, "radii", false, "intervals of average certified radii instead")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if c.Trials < 1 {
			return fmt.Errorf("coverage: --trials is %d; expected at least 1", c.Trials)
		}
		if radii {
			return c.coverRadii(cmd.Context(), cmp.Or(s.out, "bench/results/coverage-radii"))
		}
		if err := c.count(cmd.Context()); err != nil {
			return err
		}
		return c.write(cmp.Or(s.out, "bench/results/coverage"))
	}
	return cmd
}

func (c *coverage) count(ctx context.Context) (err error) {
	b := resample.Options{Resamples: c.Resamples, Seed: 1}
	studies := append(linestest.Grid(), linestest.Studies...)
	for i, s := range studies {
		of := studied{Name: s.Name, Over: s.Over, Null: s.Null}
		if of.Coverage, err = s.World.Cover(ctx, c.Trials, s.Over, b); err != nil {
			return fmt.Errorf("coverage: %s: %w", s.Name, err)
		}
		c.Studies = append(c.Studies, of)
		say("%d of %d: %s, over %s", i+1, len(studies), s.Name, s.Over)
	}
	c.Agreement, err = linestest.Agreement.CoverAgreement(ctx, c.Trials, b)
	return err
}

var percentage = regexp.MustCompile(`[0-9]+ %`)

func (c *coverage) write(path string) error {
	var b bytes.Buffer
	share := func(k, of int) string {
		if of == 0 {
			return "–"
		}
		return fmt.Sprintf("%.1f %%", 100*float64(k)/float64(of))
	}
	fmt.Fprintf(&b, "# Coverage of the intervals of accuracy lines\n\n"+
		"Made by `go run ./bench coverage --trials %d --resamples %d`. Share of 95 %% intervals that hold the "+
		"truth, over worlds that are drawn: a share of 95 %% has a standard error of %.1f %%.\n"+
		"“None” is the share of worlds whose line gets no interval. “ER” is the "+
		"effective robustness of a model beside the line; “called” are models that are on the line and whose "+
		"interval lies above it, and below. The true slope is 0.8.\n\n"+
		"| world | random | none | slope | intercept | R² | ER | called robust | called fragile | mean slope | "+
		"by reliability | Deming |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
		c.Trials, c.Resamples, 100*math.Sqrt(0.95*0.05/float64(c.Trials)))
	var whys []string
	why := map[string][]string{}
	for _, s := range c.Studies {
		held := func(k int) string {
			if s.Coverage.Trials < c.Trials/10 { // too few to count
				return "–"
			}
			return share(k, s.Coverage.Trials)
		}
		robust, fragile, mended, deming := "–", "–", "–", "–"
		if s.Null {
			robust, fragile = held(s.Robust), held(s.Fragile)
		}
		if s.Reliability > 0 {
			mended, deming = fmt.Sprintf("%.3f", s.SlopeMean/s.Reliability), fmt.Sprintf("%.3f", s.DemingMean)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %.3f | %s | %s |\n", s.Name, s.Over,
			share(s.Refused, c.Trials), held(s.Slope), held(s.Intercept), held(s.R2), held(s.Robustness), robust,
			fragile, s.SlopeMean, mended, deming)
		if s.Why != "" {
			_, reason, _ := strings.Cut(s.Why, ": ")
			if reason = percentage.ReplaceAllString(reason, "… %"); why[reason] == nil {
				whys = append(whys, reason)
			}
			why[reason] = append(why[reason], fmt.Sprintf("%s, over %s", s.Name, s.Over))
		}
	}
	fmt.Fprintf(&b, "\nWhy there is no interval, in the first world without one:\n\n")
	for _, reason := range whys {
		fmt.Fprintf(&b, "- %s (%d kinds of worlds, first %s)\n", strings.TrimSuffix(reason, "."), len(why[reason]), why[reason][0])
	}
	fmt.Fprintf(&b, "\nAccuracy without labels, four models, 400 and 300 images: intervals of ALine-S hold the "+
		"estimate of infinitely many images in %s, of ALine-D in %s.\n", share(c.Agreement.S, c.Trials),
		share(c.Agreement.D, c.Trials))
	fmt.Println(b.String())
	return writeResults(path, c, "  ", b.Bytes())
}
