package papers

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

// glanceText has a line for each table and figure of the four papers.
//
//go:embed glance.yaml
var glanceText []byte

// paper is a part of glance.yaml.
type paper struct {
	Key, Title, Link, Notebook, About string
	Rows                              []glanceRow
}

// glanceRow is a table or figure of a paper, or a claim of it.
type glanceRow struct {
	At, What, Published, Ours, Command string

	Claim   *pick  // what it is judged by
	Printed *pick  // what it would be judged by
	Never   string // why it was not run
}

// pick is a claim of a family, or two cells that are printed.
type pick struct{ Folder, Table, Family, Row, On, Than, What string }

func glance() (all []paper) {
	nb.Check(yaml.Unmarshal(glanceText, &all))
	return all
}

// judged finds the claim of a row; false where it is not judged.
func (r glanceRow) judged() (j study.Judged, c *Claims, ok bool) {
	if r.Claim == nil {
		return j, nil, false
	}
	p := r.Claim
	c = Judged(p.Folder, p.Table, p.Family)
	for _, j := range c.List {
		of := j.Claim
		if recipe.StoredName(of.Row) == recipe.StoredName(p.Row) && j.Set == p.On &&
			(p.What == "" || of.What == p.What) && (p.Than == "" || of.Than == p.Than) {
			return j, c, true
		}
	}
	nb.Assert(false, "%s: %s has no claim on %s of %s that is judged", r.At, key(p.Folder, p.Table, p.Family), p.On, p.Row)
	return j, nil, false
}

// printed has the paper's numbers for the two cells of a row that never ran.
func (r glanceRow) printed() string {
	p := r.Printed
	if p == nil {
		return orNone(r.Published)
	}
	t := nb.Must(library().Table(p.Table))
	numbers := nb.Must(library().Numbers(t))
	a, ok := numbers[study.Cell{Row: p.Row, Set: p.On, What: p.What}]
	b, there := numbers[study.Cell{Row: p.Than, Set: p.On, What: p.What}]
	nb.Assert(ok && there, "%s: %s does not print %s of %s and %s on %s", r.At, p.Table, p.What, p.Row, p.Than, p.On)
	return study.Judged{Claim: study.Claim{What: p.What, Than: p.Than}, Theirs: &[2]float64{a.Value, b.Value}}.Published()
}

func orNone(s string) string {
	if s == "" {
		return table.None
	}
	return s
}

var judgedColumns = []string{"where", "what it says", "published", "ours", "for these networks", "over starts", "runs",
	"command"}

// tables are the lines of a paper that are judged, that are not, and that never ran; then the settings of the runs.
func (p paper) tables(command func(string) string) (judged, other, never, runs *nb.Tabular) {
	judged = nb.Columns(judgedColumns...)
	other = nb.Columns("not judged", "what it shows", "command")
	never = nb.Columns("never run", "what it is", "published", "needs", "command")
	runs = nb.Columns("runs", "network, training and images", "beside the paper", "training, where it is unequal")
	type run struct {
		folder, table string
		why, effort   []string
	}
	var all []*run
	for _, r := range p.Rows {
		where := strings.Replace(r.At, " ", "\u00a0", 1)
		j, c, ok := r.judged()
		switch {
		case r.Never != "":
			never.Add(where, r.What, r.printed(), r.Never, command(r.Command))
			continue
		case !ok:
			if r.Ours != "" && r.Ours != "drawn" {
				r.What += " (here: " + r.Ours + ")"
			}
			other.Add(where, r.What, command(r.Command))
			continue
		}
		k := slices.IndexFunc(all, func(o *run) bool { return o.folder == c.Folder && o.table == r.Claim.Table })
		if k < 0 {
			k = len(all)
			all = append(all, &run{folder: c.Folder, table: r.Claim.Table})
		}
		o := all[k]
		if j.Why != "" && !slices.Contains(o.why, j.Why) {
			o.why = append(o.why, j.Why)
		}
		if effort := say(j); j.Note != "" && j.Networks != nil && j.Claim.Than != "" {
			effort, _, _ = strings.Cut(effort, " on ")
			if effort += ": " + j.Note; !slices.Contains(o.effort, effort) {
				o.effort = append(o.effort, effort)
			}
		}
		judged.Add(where, r.What+": "+say(j), j.Published(), j.Ours(), bold(j.ForNetworks()), bold(j.OverStarts()),
			string(rune('a'+k)), command(r.Command))
	}
	for k, o := range all {
		beside := orNone(strings.Join(o.why, "; "))
		if beside != table.None {
			beside = "signs alone compare: " + beside
		}
		runs.Add(string(rune('a'+k)), nb.Must(settings(o.folder, o.table)), beside, orNone(strings.Join(o.effort, "; ")))
	}
	return judged, other, never, runs
}

// families counts the claims that are judged together with those of a paper's lines.
func (p paper) families() string {
	var names []string
	claims, results := 0, 0
	var before []string
	for _, r := range p.Rows {
		if r.Claim == nil {
			continue
		}
		c := Judged(r.Claim.Folder, r.Claim.Table, r.Claim.Family)
		if name := key(c.Folder, c.About, c.Family); !slices.Contains(names, name) {
			names = append(names, name)
			claims += len(c.List)
			results = max(results, c.Fixed)
			if c.Fixed == 0 {
				before = append(before, "`"+c.Family+"`")
			}
		}
	}
	which := "which"
	if len(before) > 0 {
		which = "all but " + strings.Join(before, " and ")
	}
	return printable.Sprintf("The lines are of %d families with %d claims in all, %s were written down after the "+
		"results, of up to %d files.", len(names), claims, which, results)
}

// AtAGlance are the first tables of a paper's notebook: what it shows, what ours say, and the command, a line for each
// of its tables and figures. Papers are A, B, C and D.
func AtAGlance(key string) []any {
	k := slices.IndexFunc(glance(), func(p paper) bool { return p.Key == key })
	nb.Assert(k >= 0, "no paper %q: A, B, C or D expected", key)
	p := glance()[k]
	judged, other, never, runs := p.tables(func(command string) string {
		return strings.Replace(orNone(command), "certspec notebook run notebooks/"+p.Notebook+".ipynb", "this notebook", 1)
	})
	judged.Notes = []string{plain(p.About), plain(study.Legend), p.families()}
	for _, row := range judged.Rows {
		for i := range row {
			row[i] = plain(row[i].(string))
		}
	}
	return []any{judged, nb.Fold("How the runs differ from the paper's, and what is not judged or never ran", runs, other,
		never)}
}

// bold sets the verdict before an interval in Markdown.
func bold(verdict string) string {
	if word, rest, ok := strings.Cut(verdict, ": "); ok {
		return "**" + word + "**: " + rest
	}
	return verdict
}

var links = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// plain is text without the marks of Markdown.
func plain(s string) string {
	return strings.NewReplacer("**", "", "*", "").Replace(links.ReplaceAllString(s, "$1"))
}

// page is docs/papers.md: for each paper what was judged, how it was run, what is not judged, and what never ran.
func page() string {
	var b strings.Builder
	b.WriteString("# The four papers, table by table\n\n" +
		"For readers who ask what our runs say of a table or figure, and by which command.\n" + wrapped(study.Legend) +
		"\n[Results](results.md) has further claims and causes.\n" +
		"[Experiments](../notebooks/results/experiments/README.md) has all commands; `CERTSPEC_DATA` is the folder of " +
		"data.\n")
	for _, p := range glance() {
		p.write(&b)
	}
	return b.String()
}

// write writes a paper as a part of the page.
func (p paper) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n[The paper](%s); notebook [%s](../notebooks/%[3]s.ipynb).\n%s\n%s\n\n",
		p.Title, p.Link, p.Notebook, p.About, wrapped(p.families()))
	judged, other, never, runs := p.tables(func(command string) string {
		if book, ok := strings.CutPrefix(command, "certspec notebook run "); ok {
			return fmt.Sprintf("[%s](../%s)", strings.TrimSuffix(filepath.Base(book), ".ipynb"), book)
		} else if command != "" {
			return "`" + command + "`"
		}
		return table.None
	})
	for i, t := range []*nb.Tabular{judged, runs, other, never} {
		if len(t.Rows) > 0 {
			b.WriteString(strings.Repeat("\n", min(i, 1)) + strings.ReplaceAll(t.Markdown(), "\u00a0", " "))
		}
	}
}

// wrapped has a sentence a line.
func wrapped(text string) string { return strings.ReplaceAll(text, ". ", ".\n") }
