package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/table"
)

// Legend says what the verdicts mean, above every table that has them.
const Legend = "*Shows*: the interval lies on the side of the claim; *opposite*: on the other; *open*: on both. " +
	"Intervals cover 95 % for all claims of a family together, by Holm's method, and claims of one family alone. " +
	"For these networks they are over images, over starts over images and trainings from other random weights. " +
	"Two orders of the data from one start are one start."

// Verdicts is a table of claims: the values of the two cells, printed ones where they may stand beside ours, and the
// verdicts with the intervals that they follow from, for these networks and over starts.
func Verdicts(all []Judged) *table.Table {
	columns := []string{"claim", "published", "ours", "for these networks", "over starts"}
	printed := slices.ContainsFunc(all, func(j Judged) bool { return j.Theirs != nil })
	if !printed {
		columns = slices.Delete(columns, 1, 2)
	}
	t := table.New(columns...)
	for _, j := range all {
		row := []any{j.Say(), j.Published(), j.Ours(), j.ForNetworks(), j.OverStarts()}
		if !printed {
			row = slices.Delete(row, 1, 2)
		}
		t.Add(row...)
	}
	t.Notes = notes(all)
	return t
}

// notes say what verdicts mean, and why sizes do not compare.
func notes(all []Judged) []string {
	notes := []string{strings.ReplaceAll(Legend, "*", "")}
	add := func(note string) {
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	for _, j := range all {
		if j.Confidence > 0 && j.Confidence != resample.DefaultConfidence {
			notes[0] = strings.Replace(notes[0], "95 %", fmt.Sprintf("%.10g %%", 100*j.Confidence), 1)
		}
		if UnitOf(j.Claim.What) == "share" {
			add("Shares and their differences are in percent.")
		}
		switch j.Kinship {
		case SignOnly:
			add("Beside the published numbers signs alone compare: " + j.Why + ".")
		case Apart:
			add("Published numbers are left out: " + j.Why + ".")
		}
	}
	return notes
}

// Scale is the factor and the decimals with which numbers of the claim are printed: shares in percent.
func (c Claim) Scale() (factor float64, decimals int) {
	switch UnitOf(c.What) {
	case "radius":
		return 1, 3
	case "share":
		return 100, 1
	}
	return 1, 2
}

// Ours are the values of the two cells, and their difference.
func (j Judged) Ours() string { return j.Claim.pair(j.A, j.B) }

// Published are the printed values of the two cells; – where they may not stand beside ours.
func (j Judged) Published() string {
	if j.Theirs == nil {
		return table.None
	}
	return j.Claim.pair(j.Theirs[0], j.Theirs[1])
}

func (c Claim) pair(a, b float64) string {
	factor, decimals := c.Scale()
	if _, other := c.cells(""); other == nil {
		return printable.Fixed(factor*a, decimals)
	}
	return fmt.Sprintf("%s and %s (difference %s)", printable.Fixed(factor*a, decimals),
		printable.Fixed(factor*b, decimals), printable.Fixed(factor*(a-b), decimals))
}

// ForNetworks is the verdict for these networks with its interval, or why there is none.
func (j Judged) ForNetworks() string {
	switch {
	case j.Networks != nil:
		return j.ruled(j.Networks)
	case j.Starts == nil && j.Note != "":
		return j.Note
	}
	return table.None
}

// OverStarts is the verdict over starts with its interval, or why there is none.
func (j Judged) OverStarts() string {
	switch {
	case j.Starts != nil && j.Networks == nil:
		return j.ruled(j.Starts) + ", " + j.Note
	case j.Starts != nil:
		return fmt.Sprintf("%s, %d starts", j.ruled(j.Starts), j.Of)
	case j.Of == 1 && j.Orders > 1:
		return fmt.Sprintf("%d orders of one start", j.Orders)
	case j.Of == 1:
		return "one start"
	}
	return table.None
}

func (j Judged) ruled(r *Ruling) string {
	factor, decimals := j.Claim.Scale()
	least, most := j.Claim.span()
	low := factor * max(least, min(r.Interval.Low, j.Difference()))
	high := factor * min(most, max(r.Interval.High, j.Difference()))
	bound := factor * j.Claim.By
	if r.Verdict == VerdictOpen {
		bound = math.NaN()
	}
	return fmt.Sprintf("%s: %s", r.Verdict, printable.Ranged(factor*j.Difference(), low, high, bound, decimals))
}

// span of the numbers of the claim: intervals end there.
func (c Claim) span() (least, most float64) {
	_, other := c.cells("")
	switch unit := UnitOf(c.What); {
	case unit == "radius" || unit == "slope":
		return math.Inf(-1), math.Inf(1)
	case other == nil && !strings.HasPrefix(c.What, "er "):
		return 0, 1
	}
	return -1, 1
}

// quantityNames are quantities as readers call them, by the first word of their names.
var quantityNames = map[string]string{"acr": "ACR", "ca": "certified accuracy", "kept": "kept radius", "gauc": "GAUC",
	"aauc": "AAUC", "auc": "AUC", "cce": "CCE", "cbs": "CBS", "ace": "AdaECE", "r2": "R² by", "slope": "slope by",
	"er":     "effective robustness of",
	"spread": "spread of effective robustness over"}

// Say is the claim in words.
func (j Judged) Say() string {
	c := j.Claim
	word, argument, _ := strings.Cut(c.What, " ")
	quantity := word
	if name := quantityNames[word]; name != "" {
		quantity = name
	}
	above, margin := "above", c.By
	if c.Sign < 0 {
		above, margin = "below", -c.By
	}
	on, thanOn := setName(j.Set), setName(c.ThanOn)
	_, other := c.cells(j.Set)
	switch {
	case word == "ace":
		return fmt.Sprintf("%s: the attack %s raises %s", c.Row, argument, quantity)
	case slices.Contains([]string{"r2", "slope", "er", "spread"}, word):
		of := fmt.Sprintf("%s: %s %s on %s %s", c.Row, quantity, argument, on, above)
		switch {
		case c.Than != "":
			return of + " that of " + c.Than
		case c.ThanOn != "":
			return of + " that on " + thanOn
		}
		return of + " " + c.printed(c.By)
	case word == "cce" || word == "cbs":
		return fmt.Sprintf("%s %s %s, %s at R = %s", c.Row, above, c.Than, quantity, argument)
	}
	if argument != "" {
		quantity += " at " + argument
	}
	a, b := quantity+" of "+c.Row, c.Than
	switch {
	case other == nil:
		return fmt.Sprintf("%s %s %s on %s", a, above, c.printed(c.By), on)
	case c.ThanOn != "" && c.Than == "" && c.ThanWhat == "":
		return fmt.Sprintf("%s: %s %s %s", c.Row, on, above, thanOn)
	case word == "acr":
		a = c.Row
	}
	if c.ThanWhat != "" {
		b = strings.ToUpper(c.ThanWhat) + " of " + other.Row
	}
	switch {
	case margin < 0:
		b += ", but for " + c.printed(-margin)
	case margin > 0:
		b += " by " + c.printed(margin)
	}
	return fmt.Sprintf("%s %s %s on %s", a, above, b, on)
}

func setName(set string) string {
	if set == "clean" {
		return "clean images"
	}
	return set
}

// printed is a number of the claim without zeros at its end.
func (c Claim) printed(v float64) string {
	factor, decimals := c.Scale()
	text := printable.Fixed(factor*v, decimals)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
