package papers

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/experiment/claims"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/study"
)

// pageRow is a line of a table on a page, by the names of its columns.
type pageRow map[string]string

// rowsOfPage are the rows of all tables that have a column published and one for ours.
func rowsOfPage(text string) (rows []pageRow) {
	var head []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			head = nil
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case head == nil:
			head = cells
		case strings.HasPrefix(line, "|:"):
		case strings.Contains(strings.Join(head, "|"), "published|ours"):
			row := pageRow{}
			for i, c := range cells {
				row[head[i]] = c
			}
			rows = append(rows, row)
		}
	}
	return rows
}

const numberOnPage = `(−?\d[\d,]*\.?\d*)`

var (
	onePrinted = regexp.MustCompile("^" + numberOnPage + "$")
	twoPrinted = regexp.MustCompile("^" + numberOnPage + " and " + numberOnPage + ` \(difference ` + numberOnPage + `\)$`)
	ruled      = regexp.MustCompile(`^\*\*(shows|opposite|open)\*\*: ` + numberOnPage + ` \(` + numberOnPage + " to " + numberOnPage + `\)`)
)

func parsed(t *testing.T, texts ...string) (all []float64) {
	t.Helper()
	for _, s := range texts {
		v, err := strconv.ParseFloat(strings.ReplaceAll(strings.ReplaceAll(s, "−", "-"), ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// What stands beside ours in print is the same expression: one number beside one, or two with their difference beside
// two with theirs, and the difference that is judged is that of ours. A verdict stands beside its interval.
func TestPageHasOneExpression(t *testing.T) {
	text := testkit.Read(t, "../../docs/papers.md")
	rows := rowsOfPage(string(text))
	for _, row := range rows {
		fail := func(format string, args ...any) {
			t.Errorf("%s: %s (published %q, ours %q)", row["where"], fmt.Sprintf(format, args...), row["published"], row["ours"])
		}
		difference := math.NaN()
		if m := twoPrinted.FindStringSubmatch(row["ours"]); m != nil {
			v := parsed(t, m[1:]...)
			if difference = v[2]; math.Abs(v[0]-v[1]-v[2]) > 1.01*unit(m[3]) {
				fail("%v less %v is not %v", v[0], v[1], v[2])
			}
			if row["published"] != "–" && !twoPrinted.MatchString(row["published"]) {
				fail("ours is a difference of two numbers, and published is none")
			}
		} else if m := onePrinted.FindStringSubmatch(row["ours"]); m != nil {
			difference = parsed(t, m[1])[0]
			if row["published"] != "–" && !onePrinted.MatchString(row["published"]) {
				fail("ours is a number, and published is none")
			}
		} else {
			fail("ours is neither a number nor two with their difference")
		}
		if m := twoPrinted.FindStringSubmatch(row["published"]); m != nil {
			if v := parsed(t, m[1:]...); math.Abs(v[0]-v[1]-v[2]) > 1.01*unit(m[3]) {
				fail("%v less %v is not %v", v[0], v[1], v[2])
			}
		}
		found := 0
		for _, column := range []string{"for these networks", "over starts"} {
			m := ruled.FindStringSubmatch(row[column])
			if m == nil {
				continue
			}
			found++
			if v := parsed(t, m[2:]...); math.Abs(v[0]-difference) > 0.51*(unit(row["ours"])+unit(m[2])) || v[1] > v[0] || v[0] > v[2] {
				fail("%s is judged by %v", column, m[0])
			}
		}
		if found == 0 {
			fail("no verdict with its interval")
		}
	}
	if len(rows) < 40 {
		t.Errorf("%d lines with published numbers beside ours", len(rows))
	}
}

// unit is the unit of the last digit of a number, or of the first one in a text.
func unit(text string) float64 {
	number := regexp.MustCompile(numberOnPage).FindString(text)
	_, decimals, _ := strings.Cut(number, ".")
	return math.Pow10(-len(decimals))
}

// Each claim of the pages by hand: what is published are the two cells of the table's matrix, and the word is on the
// side of the bound where the printed interval lies.
func TestClaimsOfThePages(t *testing.T) {
	t.Chdir("..")
	printed, words := 0, map[study.Verdict]int{}
	for _, a := range shownFamilies() {
		table, err := library().Table(a.Table)
		if err != nil {
			t.Fatal(err)
		}
		numbers, err := claims.Printed(library(), table)
		if err != nil {
			t.Fatal(err)
		}
		c := Judged(a.Folder, a.Table, a.Family)
		for _, j := range c.List {
			of := j.Claim
			cell := study.Cell{Row: of.Row, Set: j.Set, What: of.What}
			if j.Theirs != nil {
				printed++
				n, ok := numbers.Cells[cell]
				if v := n.Value; !ok || n.Settings.Percent && v/100 != j.Theirs[0] || !n.Settings.Percent && v != j.Theirs[0] {
					t.Errorf("%s: published is %v, the matrix has %v", say(j), j.Theirs[0], n.Value)
				}
			}
			for r, text := range map[*study.Ruling]string{j.Networks: j.ForNetworks(), j.Starts: j.OverStarts()} {
				m := ruled.FindStringSubmatch(bold(text))
				if r == nil || m == nil {
					continue
				}
				v := parsed(t, m[2:]...)
				factor, _ := of.Scale()
				bound := factor * of.By
				is := study.VerdictOpen
				if v[1] > bound {
					is = study.VerdictShows
				} else if v[2] < bound {
					is = study.VerdictOpposite
				}
				if of.Sign < 0 && is != study.VerdictOpen {
					is = map[study.Verdict]study.Verdict{study.VerdictShows: study.VerdictOpposite, study.VerdictOpposite: study.VerdictShows}[is]
				}
				words[r.Verdict]++
				if is != r.Verdict {
					t.Errorf("%s: %s", say(j), m[0])
				}
			}
			if j.Orders > 1 && j.Of == 1 && j.Starts != nil {
				t.Errorf("%s: %d orders of one start are judged over starts", say(j), j.Orders)
			}
		}
	}
	if printed < 60 || words[study.VerdictShows] < 30 || words[study.VerdictOpen] < 30 || words[study.VerdictOpposite] < 10 {
		t.Errorf("%d with printed numbers; %v", printed, words)
	}
}

// docs/papers.md and the parts of docs/results.md are made from the claims.
func TestPagesAreCurrent(t *testing.T) {
	t.Chdir("..")
	for file, make := range map[string]func(string) string{"papers.md": func(string) string { return page() },
		"results.md": resultsPage} {
		path := filepath.Join("..", "docs", file)
		text := testkit.Read(t, path)
		want := make(string(text))
		if *update == "page" {
			if err := atomicfile.Write(path, []byte(want)); err != nil {
				t.Fatal(err)
			}
		} else if string(text) != want {
			t.Errorf("docs/%s is not current: go test ./papers -run Pages -update=page", file)
		}
	}
}

// Every table and figure of the four papers has a line.
func TestGlanceIsWhole(t *testing.T) {
	for key, want := range map[string][2]int{"A": {9, 15}, "B": {9, 4}, "C": {3, 13}, "D": {10, 19}} {
		text := "\n"
		for _, p := range glance() {
			for _, row := range p.Rows {
				if p.Key == key {
					text += row.At + "\n"
				}
				if row.Claim == nil && row.Ours == "" && row.Never == "" && row.What != "a drawing of the idea" {
					t.Errorf("%s, %s: neither a claim, nor ours, nor a reason", key, row.At)
				}
				if strings.Contains(row.Command, "$RUN") || row.Claim != nil && row.Command == "" {
					t.Errorf("%s, %s: no command that can be pasted: %q", key, row.At, row.Command)
				}
			}
		}
		for kind, n := range map[string]int{"Table": want[0], "Figure": want[1]} {
			for i := range n {
				if name := fmt.Sprintf("%s %d", kind, i+1); !strings.Contains(text, "\n"+name) {
					t.Errorf("%s: no line of %s", key, name)
				}
			}
		}
	}
}
