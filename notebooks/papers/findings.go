package papers

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/notebooks/lesson"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/table"
)

// Findings say what our results show of the claims of a paper.
type Findings struct {
	List   []Finding `json:"list"`
	Unit   string    `json:"unit"` // of all numbers
	Tier   string    `json:"tier"`
	Notes  []string  `json:"notes"`
	Digits int       `json:"digits"` // decimals, at most

	kind string // the first word of what Found calls them
}

// Finding is what shows of one claim.
type Finding struct {
	Claim   string `json:"claim"`
	Parts   []Part `json:"parts"`
	Verdict string `json:"verdict"`
}

// Part is one number of a claim with its interval of 95 %.
type Part struct {
	Name      string   `json:"name,omitempty"` // "": the only one
	Of        string   `json:"of,omitempty"`   // the values that a difference is of
	Value     float64  `json:"value"`
	Low       float64  `json:"low"`
	High      float64  `json:"high"`
	Bound     float64  `json:"bound"`               // the number that the claim compares with
	Published *float64 `json:"published,omitempty"` // the same number in the paper
	Starts    int      `json:"starts"`
}

// where keeps the findings of some claims.
func (f *Findings) where(keep func(claim string) bool) *Findings {
	out := *f
	out.List = slices.DeleteFunc(slices.Clone(f.List), func(of Finding) bool { return !keep(of.Claim) })
	return &out
}

// About keeps the findings whose claim has one of the words in it.
func (f *Findings) About(words ...string) *Findings {
	return f.where(func(claim string) bool { return hasOne(claim, words) })
}

// Without leaves out the findings whose claim has one of the words in it.
func (f *Findings) Without(words ...string) *Findings {
	return f.where(func(claim string) bool { return !hasOne(claim, words) })
}

// Only keeps the findings whose claim ends with the words.
func (f *Findings) Only(words string) *Findings {
	return f.where(func(claim string) bool { return strings.HasSuffix(claim, words) })
}

func hasOne(claim string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(claim, word) })
}

// Table is the table of the findings.
func (f *Findings) Table() *nb.Tabular {
	t := nb.Columns("claim", "here, "+f.Unit, "published", "verdict")
	for _, of := range f.List {
		var here, published []string
		for _, p := range of.Parts {
			here = append(here, strings.TrimPrefix(inWords(strings.TrimSuffix(p.Name, ":"))+": "+f.number(p), ": "))
			if p.Published != nil {
				published = append(published, f.plain(*p.Published))
			}
		}
		t.Add(inWords(of.Claim), strings.Join(here, "; "), cmp.Or(strings.Join(published, "; "), table.None),
			inWords(of.Verdict))
	}
	t.Notes = f.Notes
	return t
}

// Say is the verdict of the claim with these words, or else of the first that begins with them: verdict first, then
// the numbers.
func (f *Findings) Say(claim string) nb.Markdown {
	k := slices.IndexFunc(f.List, func(of Finding) bool { return of.Claim == claim })
	if k < 0 {
		k = slices.IndexFunc(f.List, func(of Finding) bool { return strings.HasPrefix(of.Claim, claim) })
	}
	nb.Assert(k >= 0, "no claim %q", claim)
	of := f.List[k]
	row := (&Findings{List: []Finding{of}, Unit: f.Unit, Digits: f.Digits}).Table().Rows[0]
	text := fmt.Sprintf("**%s**: %v. Here %v", capital(inWords(of.Verdict)), row[0], row[1])
	if row[2] != table.None {
		text += fmt.Sprintf("; published %v", row[2])
	}
	return nb.Markdown(text + fmt.Sprintf(" (%s; tier %s).", f.Unit, f.Tier))
}

// method is a name of GOOD and its relatives in files, foreign that of a set of images.
var (
	method  = regexp.MustCompile(`\b(oe|ceda|acet|ccu|good(\d+))\b`)
	foreign = regexp.MustCompile(`, (out-)?(\w+)(-rgb)?(: |$)`)
)

// setName is a set of images as a reader calls it.
func setName(set string) string {
	if strings.HasPrefix(set, "out-") {
		return lesson.Foreign["out"]
	}
	return cmp.Or(lesson.Foreign[strings.TrimSuffix(set, "-rgb")], set)
}

// inWords has the names of methods and sets as a reader writes them.
func inWords(s string) string {
	if of := s[:min(len(s), 2)]; len(s) > 3 && of[0] >= '1' && of[0] <= '9' && of[1] == ':' {
		s = "claim " + of[:1] + ", " + s[3:]
	}
	s = method.ReplaceAllStringFunc(s, func(name string) string {
		if q, good := strings.CutPrefix(name, "good"); good {
			return "GOOD " + q
		}
		return strings.ToUpper(name)
	})
	return foreign.ReplaceAllStringFunc(s, func(end string) string {
		m := foreign.FindStringSubmatch(end)
		if lesson.Foreign[m[2]] == "" {
			return end
		}
		return " on " + lesson.Foreign[m[2]] + m[4]
	})
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// number has the digits that the interval supports: two of its half width.
func (f *Findings) number(p Part) string {
	digits, half := 0, (p.High-p.Low)/2
	for digits < f.Digits && (half*math.Pow10(digits) < 9.5 || half == 0) &&
		(half > 0 || p.Value != math.Round(p.Value)) {
		digits++
	}
	return fmt.Sprintf("%s (%s to %s)", trueMinus(p.Value, digits), trueMinus(p.Low, digits), trueMinus(p.High, digits))
}

func (f *Findings) plain(v float64) string { return trueMinus(v, f.Digits) }

// trueMinus is a number with a true minus sign and no negative zero.
func trueMinus(v float64, digits int) string {
	s := fmt.Sprintf("%.*f", digits, v)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return strings.Replace(s, "-", "−", 1)
}

// Figure draws the numbers of the findings with their intervals, the largest at the top, and beside them what is
// published, as rings. Blue shows, orange shows the opposite, pale is for these starts alone, grey is open. A tick is
// the number that the claim compares with.
func (f *Findings) Figure(title string) *nb.Figure {
	title += "\n" + Settings[f.kind+" "+f.Tier]
	out := figure.Forest{Title: title, X: f.Unit}
	for _, of := range f.List {
		for _, p := range of.Parts {
			name := inWords(strings.TrimSuffix(strings.TrimSpace(of.Claim+": "+p.Name), ":"))
			row := figure.ForestRow{Name: name, Value: p.Value, Low: p.Low,
				High: p.High, Bound: p.Bound, Published: p.Published, Ink: figure.Grey}
			if strings.Contains(of.Verdict, opposite) {
				row.Ink = figure.Palette[1]
			} else if strings.Contains(of.Verdict, shows) {
				row.Ink = figure.Palette[0]
			}
			if c, ok := row.Ink.(color.RGBA); ok && strings.HasPrefix(of.Verdict, open) { // for these starts alone
				row.Ink = color.NRGBA{c.R, c.G, c.B, 120}
			}
			out.Rows = append(out.Rows, row)
		}
	}
	slices.SortStableFunc(out.Rows, func(a, b figure.ForestRow) int { return cmp.Compare(b.Value, a.Value) })
	caption := title + ": numbers with 95 % intervals, published ones as rings"
	for _, of := range f.List {
		caption += fmt.Sprintf("; %s: %s", inWords(of.Claim), inWords(of.Verdict))
	}
	return nb.Plot(out, caption)
}

// level is that at which the verdicts of a table are right together.
const level = 0.05

// ruling is what a claim shows: "shows", "the opposite shows" or "open". Of two starts given says so for these
// starts alone.
type ruling struct {
	over   string
	given  string
	starts int // 0: no starts; 1: over is for this start
}

const (
	shows    = "shows"
	opposite = "the opposite shows"
	open     = "open"
)

func (v ruling) String() string {
	switch {
	case v.starts == 1 && v.over != open:
		return "for this start: " + v.over
	case v.starts == 2 && v.over == open && v.given != open:
		return "open; for these 2 starts: " + v.given
	}
	return v.over
}

// verdicts say what differences show of the claims that they are above 0, or below, all together: by Holm's
// correction of their p-values; so do, apart, those for the starts that are there.
func verdicts(below bool, of ...*compare.Difference) (all []ruling) {
	var over, given []float64
	for _, d := range of {
		p := d.P
		if d.Given != nil {
			p = d.Given.P
		}
		over, given = append(over, d.P), append(given, p)
	}
	over, given = nb.Must(resample.Holm(over)), nb.Must(resample.Holm(given))
	for i, d := range of {
		word := func(corrected float64) string {
			switch {
			case corrected > level:
				return open
			case d.Difference > 0 != below:
				return shows
			}
			return opposite
		}
		all = append(all, ruling{word(over[i]), word(given[i]), d.Starts})
	}
	return all
}

// togetherNote is the caption of verdicts; "" where there are none.
func togetherNote(claims int) string {
	if claims == 0 {
		return ""
	}
	return fmt.Sprintf("Verdicts hold together: p-values of the %d differences, corrected by Holm, are at most %g. "+
		"Intervals are 95 %% ones of one difference alone.", claims, level)
}

// startsNote is the caption of verdicts over starts.
func startsNote(of []*compare.Difference) string {
	if !slices.ContainsFunc(of, func(d *compare.Difference) bool { return d.Given != nil }) {
		return ""
	}
	return "Intervals are over images and starts, by Student's t. What is said for these starts, by p-values " +
		"over images alone, holds together likewise."
}

// notes leaves out empty ones.
func notes(all ...string) []string {
	return slices.DeleteFunc(all, func(note string) bool { return note == "" })
}

// add adds what shows of a trend, if there is anything to judge it by.
func (f *Findings) add(claim, set string, parts []part) {
	if len(parts) == 0 {
		return
	}
	of := Finding{Claim: claim + ", " + set, Verdict: saysOf(parts)}
	for _, p := range parts {
		of.Parts = append(of.Parts, Part{Name: p.name, Value: p.value, Low: p.value - p.half, High: p.value + p.half,
			Bound: p.bound, Starts: p.starts})
	}
	f.List = append(f.List, of)
}
