package papers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
)

// Claims are a family of claims of a table, judged by the results of a folder.
type Claims struct {
	Folder string
	About  string // name of the table, such as sun2021/table2
	Family string
	List   []study.Judged
	Fixed  int // results that were there when the family was written down
	Tier   string
}

// Judged judges a family by a folder below results/experiments. What is judged already, by the same claims, results and
// printed numbers, is taken from findings.json.
func Judged(folder, table, family string) *Claims {
	return nb.Must(judgedBy(folder, table, family, resample.Options{}, true))
}

// cached is a family in findings.json.
type cached struct {
	Claims  string         `json:"claims"`  // digest of the family
	Results string         `json:"results"` // digest of the results, and of what is printed
	Fixed   int            `json:"fixed"`   // results that were there when the claims were written down
	List    []study.Judged `json:"list"`
}

//go:embed findings.json
var cacheText []byte

var cache = sync.OnceValue(func() (all map[string]cached) {
	nb.Check(json.Unmarshal(cacheText, &all))
	return all
})

// library has the built-in tables, and those of the files beside the results.
var library = sync.OnceValue(func() *recipe.Library {
	l := nb.Must(recipe.Open())
	for _, file := range nb.Must(filepath.Glob("results/experiments/*.yaml")) {
		nb.Must(l.Add(file))
	}
	return l
})

func judgedBy(folder, table, family string, o resample.Options, useCache bool) (*Claims, error) {
	t, err := library().Table(table)
	if err != nil {
		return nil, err
	}
	claims, ok := t.Families[family]
	if !ok {
		return nil, fmt.Errorf("papers: table %s has no family %q; it has %q", table, family,
			slices.Sorted(maps.Keys(t.Families)))
	}
	printed, err := printedOf(t)
	if err != nil {
		return nil, err
	}
	path := folderOf(folder)
	results, files, err := resultsDigest(path, printed)
	if err != nil {
		return nil, err
	}
	was := cache()[key(folder, table, family)]
	out := &Claims{Folder: folder, About: table, Family: family, List: was.List, Fixed: was.Fixed}
	if was.Claims != claims.Digest() {
		out.Fixed = files
	}
	if useCache && was.Claims == claims.Digest() && was.Results == results {
		return out, nil
	}
	ours, err := open(path, table)
	if err != nil {
		return nil, err
	}
	out.List, err = study.Judge(nb.Context(), claims, ours, study.PrintedTable{Cells: printed, Expand: printedSets}, o)
	return out, err
}

func key(folder, table, family string) string {
	return folder + " " + recipe.Spelled(table) + " " + family
}

// open are the results of a table in a folder.
func open(folder, table string) (study.Results, error) {
	of := openRadii
	switch name := recipe.StoredName(table); {
	case strings.HasPrefix(name, "B/"):
		of = openAreas
	case strings.HasPrefix(name, "C/table"):
		of = openPredictors
	case strings.HasPrefix(name, "D/"):
		of = openCalibration
	}
	return of(folder, table)
}

// printedOf are the printed numbers of a table.
func printedOf(t recipe.Table) (map[study.Cell]study.PrintedNumber, error) {
	if recipe.StoredName(t.Name) == "C/table1" {
		return printedPredictors(), nil
	}
	return library().Numbers(t)
}

// resultsDigest names the bytes of a folder's results and the printed numbers, and counts the results.
func resultsDigest(folder string, printed map[study.Cell]study.PrintedNumber) (digest string, files int, err error) {
	h := sha256.New()
	var paths []string
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		ending := filepath.Ext(path)
		if err == nil && !d.IsDir() && (ending == ".csv" || ending == ".json" || ending == ".jsonl") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return "", 0, fmt.Errorf("papers: %w", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", 0, fmt.Errorf("papers: %w", err)
		}
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		fmt.Fprintf(h, "%s %x\n", filepath.Base(path), sha256.Sum256(text))
		if filepath.Base(filepath.Dir(path)) == "results" {
			files++
		}
	}
	for _, c := range slices.SortedFunc(maps.Keys(printed), func(a, b study.Cell) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Set, b.Set), cmp.Compare(a.What, b.What))
	}) {
		fmt.Fprintf(h, "%v %+v\n", c, printed[c])
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil)), files, nil
}

// Table is that of the claims.
func (c *Claims) Table() *nb.Tabular {
	t := nb.Columns("claim", "published", "ours", "for these networks", "over starts")
	for _, j := range c.List {
		t.Add(say(j), c.published(j), c.ours(j), plain(c.ruling(j, j.Networks)), plain(c.ruling(j, j.Starts)))
	}
	t.Notes = append([]string{plain(study.Legend)}, c.notes()...)
	return t
}

// notes are the captions of the claims: how many are judged together, and why sizes do not compare.
func (c *Claims) notes() (notes []string) {
	add := func(note string) {
		if note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	if len(c.List) > 0 {
		add(fmt.Sprintf("%d claims are judged together; the family was fixed after %d results.", c.List[0].Family, c.Fixed))
	}
	for _, j := range c.List {
		switch {
		case j.Kinship == study.SignOnly:
			add("Beside the published numbers signs alone compare: " + j.Why + ".")
		case j.Kinship == study.Apart:
			add("Published numbers are left out: " + j.Why + ".")
		}
	}
	return notes
}

// scale is the unit that numbers of a quantity are printed in, and their decimals.
func scale(what string) (factor float64, digits int) {
	switch word, _, _ := strings.Cut(what, " "); word {
	case "acr":
		return 1, 3
	case "r2", "slope":
		return 1, 2
	}
	return 100, 1 // percent
}

// published are the printed numbers of the two cells of a claim, and their difference.
func (c *Claims) published(j study.Judged) string {
	if j.Theirs == nil {
		return "–"
	}
	return pair(j, j.Theirs[0], j.Theirs[1])
}

func (c *Claims) ours(j study.Judged) string { return pair(j, j.A, j.B) }

// pair has the difference of the two as they are printed beside each other.
func pair(j study.Judged, a, b float64) string {
	factor, digits := scale(j.Claim.What)
	if alone(j.Claim) {
		return printable.Fixed(factor*a, digits)
	}
	return fmt.Sprintf("%s and %s (difference %s)", printable.Fixed(factor*a, digits), printable.Fixed(factor*b, digits),
		printable.Fixed(factor*(a-b), digits))
}

// alone is whether a claim is about one cell and a number.
func alone(c study.Claim) bool { return c.Than == "" && c.ThanOn == "" && c.ThanWhat == "" }

// ruling is a verdict with the interval that it follows from.
func (c *Claims) ruling(j study.Judged, r *study.Ruling) string {
	if r == nil {
		switch {
		case r == j.Starts && j.Orders > 1 && j.Of == 1:
			return fmt.Sprintf("%d orders of one start", j.Orders)
		case r == j.Starts && j.Of == 1:
			return "one start"
		}
		return "–"
	}
	factor, digits := scale(j.Claim.What)
	least, most := span(j.Claim)
	low := factor * max(least, min(r.Interval.Low, j.Difference()))
	high := factor * min(most, max(r.Interval.High, j.Difference()))
	bound := factor * j.Claim.By
	if r.Verdict == study.VerdictOpen {
		bound = math.NaN()
	}
	text := fmt.Sprintf("**%s**: %s", r.Verdict, printable.Ranged(factor*j.Difference(), low, high, bound, digits))
	if r == j.Starts && j.Networks == nil {
		return text + ", " + j.Note
	}
	if r == j.Starts {
		return text + fmt.Sprintf(", %d starts", j.Of)
	}
	return text
}

// span is what a number of a claim can be: intervals end there.
func span(c study.Claim) (least, most float64) {
	switch {
	case study.UnitOf(c.What) == "radius" || study.UnitOf(c.What) == "slope":
		return math.Inf(-1), math.Inf(1)
	case alone(c):
		return 0, 1
	}
	return -1, 1
}

// Where keeps the claims whose words have one of these in them.
func (c *Claims) Where(words ...string) *Claims {
	out := *c
	out.List = slices.DeleteFunc(slices.Clone(c.List), func(j study.Judged) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(say(j), w) })
	})
	return &out
}

// Of keeps the claims about some rows, as the recipes of the family name them.
func (c *Claims) Of(rows ...string) *Claims {
	out := *c
	out.List = slices.DeleteFunc(slices.Clone(c.List), func(j study.Judged) bool {
		return !slices.ContainsFunc(rows, func(row string) bool {
			return recipe.StoredName(row) == recipe.StoredName(j.Claim.Row)
		})
	})
	return &out
}

// On keeps the claims on some sets.
func (c *Claims) On(sets ...string) *Claims {
	out := *c
	out.List = slices.DeleteFunc(slices.Clone(c.List), func(j study.Judged) bool { return !slices.Contains(sets, j.Set) })
	return &out
}

// Say has the claims in sentences: verdict first, then the numbers.
func (c *Claims) Say() nb.Markdown {
	var lines []string
	for _, j := range c.List {
		text := fmt.Sprintf("%s. Here %s", say(j), c.ours(j))
		if j.Theirs != nil {
			text += "; published " + c.published(j)
		}
		for _, of := range []struct {
			name string
			*study.Ruling
		}{{"for these networks", j.Networks}, {"over starts", j.Starts}} {
			if of.Ruling != nil {
				text += fmt.Sprintf(". %s %s", capital(of.name), c.ruling(j, of.Ruling))
			}
		}
		lines = append(lines, text+".")
	}
	return nb.Markdown(strings.Join(lines, "\n\n"))
}

// Figure draws differences with the intervals that the verdicts follow from, the largest at the top:
// over starts where there are some, else for these networks. Rings are what is published. Blue shows,
// orange is the opposite, grey open. A tick is the number that the claim compares with.
func (c *Claims) Figure(title string) *nb.Figure {
	out := figure.Forest{Title: title + "\n" + settingsOfTitle(c.Folder), X: axisOf(c)}
	caption := title + ": differences with intervals, published ones as rings"
	for _, j := range c.List {
		r := cmp.Or(j.Starts, j.Networks)
		if r == nil {
			continue
		}
		factor, _ := scale(j.Claim.What)
		row := figure.ForestRow{Name: say(j), Value: factor * j.Difference(), Low: factor * r.Interval.Low,
			High: factor * r.Interval.High, Bound: factor * j.Claim.By, Ink: figure.Grey}
		if j.Theirs != nil {
			published := factor * (j.Theirs[0] - j.Theirs[1])
			row.Published = &published
		}
		switch r.Verdict {
		case study.VerdictShows:
			row.Ink = figure.Palette[0]
		case study.VerdictOpposite:
			row.Ink = figure.Palette[1]
		}
		out.Rows = append(out.Rows, row)
		caption += fmt.Sprintf("; %s: %s", say(j), r.Verdict)
	}
	slices.SortStableFunc(out.Rows, func(a, b figure.ForestRow) int { return cmp.Compare(b.Value, a.Value) })
	return nb.Plot(out, caption)
}

// axisOf names the unit of the claims.
func axisOf(c *Claims) string {
	if len(c.List) == 0 {
		return ""
	}
	switch j := c.List[0]; {
	case study.UnitOf(j.Claim.What) == "radius":
		return "difference of radii"
	case study.UnitOf(j.Claim.What) != "share":
		return study.UnitOf(j.Claim.What)
	}
	return "points"
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
