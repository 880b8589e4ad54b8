package certify

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/rs"
)

// untilOptions say when a run under the rule anytime ends.
type untilOptions struct{ budget, until string }

func (o *untilOptions) flags(f *cli.Flags) {
	f.Named(&o.budget, "budget", "", "for the rule anytime: noise samples in all, such as 5e6, or time, such as 10m",
		func() []string { return []string{"1e6", "10m"} })
	f.Named(&o.until, "until", "",
		"for the rule anytime: a mean radius, radius=0.4, or a share of images that are decided at a radius, "+
			"decided=0.9@0.25", func() []string { return []string{"radius=", "decided="} })
}

// read reads the flags.
func (o *untilOptions) read(f *pflag.FlagSet, rule rs.Rule) (u rs.Until, err error) {
	for _, name := range []string{"budget", "until"} {
		if f.Changed(name) && rule != rs.Anytime {
			return u, cli.Usagef("--%s with the rule %s, which has an end of its own: it is for --rule %s", name, rule,
				rs.Anytime)
		}
	}
	if rule == rs.Anytime && !f.Changed("budget") && !f.Changed("until") {
		return u, cli.Usagef("--rule %s has no end of its own: expected --budget with noise samples or a time "+
			"(--budget 5e6, --budget 10m), or --until", rule)
	}
	if f.Changed("budget") {
		if u.Samples, u.Time, err = readBudget(o.budget); err != nil {
			return u, err
		}
	}
	if !f.Changed("until") {
		return u, nil
	}
	name, value, _ := strings.Cut(o.until, "=")
	bad := cli.Usagef("--until %s: expected radius=R with R above 0, or decided=SHARE@R with a share above 0 and at "+
		"most 1", o.until)
	number := func(text string) float64 {
		v, failed := strconv.ParseFloat(text, 64)
		if failed != nil || !(v >= 0) || math.IsInf(v, 0) {
			err = bad
		}
		return v
	}
	switch name {
	case "radius":
		if u.Radius = number(value); u.Radius == 0 {
			err = bad
		}
	case "decided":
		share, at, _ := strings.Cut(value, "@")
		if u.Share, u.At = number(share), number(at); u.Share == 0 || u.Share > 1 {
			err = bad
		}
	default:
		err = bad
	}
	return u, err
}

// readBudget reads a number of noise samples or a time.
func readBudget(text string) (samples int, limit time.Duration, err error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil && v >= 1 && v < 1<<53 && v == math.Trunc(v) {
		return int(v), 0, nil
	}
	if limit, err = time.ParseDuration(text); err != nil || limit <= 0 {
		return 0, 0, cli.Usagef("--budget %s: expected a whole number of noise samples, such as 5e6, or a time, "+
			"such as 10m", text)
	}
	return 0, limit, nil
}
