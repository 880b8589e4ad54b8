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
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/certspec/certspec/internal/experiment/claims"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/figure"
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
}

// Judged judges a family by a folder below results/experiments. What is judged already, by the same claims, results and
// printed numbers, is taken from findings.json.
func Judged(folder, table, family string) *Claims {
	t := nb.Must(library().Table(table))
	path, digest := folderOf(folder), t.Families[family].Digest()
	results, files, err := resultsDigest(path, nb.Must(claims.Printed(library(), t)).Cells)
	nb.Check(err)
	was := cache()[key(folder, table, family)]
	out := &Claims{Folder: folder, About: table, Family: family, List: was.List, Fixed: was.Fixed}
	if was.Claims != digest {
		out.Fixed = files
	}
	if was.Claims != digest || was.Results != results {
		judged := nb.Must(claims.Judge(nb.Context(), library(), path, table, resample.Options{}, family))
		out.List = judged[0].Claims
	}
	return out
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

func key(folder, table, family string) string {
	return folder + " " + recipe.Spelled(table) + " " + family
}

// folderOf is the folder of results with a name.
func folderOf(name string) string {
	if name == "acce-published" {
		return filepath.Join("results", name)
	}
	return filepath.Join("results/experiments", name)
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

// say is a claim in the words of a reader.
func say(j study.Judged) string { return claims.Readable(library(), j).Say() }

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
		factor, _ := j.Claim.Scale()
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
