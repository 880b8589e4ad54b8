package papers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

// Marks around what resultsPage makes.
const (
	madeBegins = "<!-- made from the claims of the recipes: begin -->\n"
	madeEnds   = "<!-- made from the claims of the recipes: end -->\n"
)

// resultsPage is docs/results.md with its verdicts made anew.
func resultsPage(text string) string {
	before, rest, ok := strings.Cut(text, madeBegins)
	_, after, there := strings.Cut(rest, madeEnds)
	nb.Assert(ok && there, "docs/results.md lacks %q or %q", madeBegins, madeEnds)
	var b strings.Builder
	b.WriteString(before + madeBegins + "\n## Verdicts by family\n\n" + wrapped(study.Legend) +
		"\nAll claims of a family are judged; `over starts` counts those that show over starts, too.\n\n")
	t := nb.Columns("paper", "family", "claims", "shows", "over starts", "opposite", "open", "fixed after")
	for _, f := range shownFamilies() {
		c := Judged(f.Folder, f.Table, f.Family)
		by := map[study.Verdict][]string{}
		over := 0
		for _, j := range c.List {
			v := cmp.Or(j.Networks, j.Starts).Verdict
			by[v] = append(by[v], say(j))
			if j.Starts != nil && j.Starts.Verdict == study.VerdictShows {
				over++
			}
		}
		opposite := fmt.Sprint(len(by[study.VerdictOpposite]))
		if n := len(by[study.VerdictOpposite]); n > 0 && n <= 3 {
			opposite += ": " + strings.Join(by[study.VerdictOpposite], "; ")
		}
		t.Add(paperOf(f.Table), "`"+key(f.Folder, f.Table, f.Family)+"`", len(c.List), len(by[study.VerdictShows]), over,
			opposite, len(by[study.VerdictOpen]), fmt.Sprintf("%d results", c.Fixed))
	}
	b.WriteString(t.Markdown() + "\n## Sun et al. 2021, claim by claim\n\n" +
		"Differences of average certified radii; [papers](papers.md) has the values behind the first of them.\n" +
		"At tier `evidence` every row is fine-tuned from one network, so that nothing is said over starts.\n\n")
	all := nb.Columns("claim", "published", "for these networks", "over starts")
	for _, f := range shownFamilies() {
		if recipe.StoredName(f.Table)[0] == 'A' && strings.HasPrefix(f.Folder, "A-") {
			c := Judged(f.Folder, f.Table, f.Family)
			for _, j := range c.List {
				published, starts := table.None, table.None
				if j.Theirs != nil {
					published = printable.Fixed(j.Theirs[0]-j.Theirs[1], 3)
				}
				if j.Starts != nil {
					starts = bold(j.OverStarts())
				}
				all.Add(say(j), published, bold(j.ForNetworks()), starts)
			}
		}
	}
	b.WriteString(all.Markdown() + "\n" + madeEnds + after)
	return b.String()
}

// paperOf is the paper of a table, or ours.
func paperOf(table string) string {
	word, _, _ := strings.Cut(recipe.Spelled(recipe.StoredName(table)), "/")
	papers := recipe.Papers()
	if k := slices.IndexFunc(papers, func(p recipe.Paper) bool { return p.Key == word }); k >= 0 {
		return papers[k].Authors
	}
	return "ours"
}

func shownFamilies() (all []pick) {
	add := func(p pick) {
		if !slices.ContainsFunc(all, func(o pick) bool {
			return key(o.Folder, o.Table, o.Family) == key(p.Folder, p.Table, p.Family)
		}) {
			all = append(all, p)
		}
	}
	for _, p := range glance() {
		for _, r := range p.Rows {
			if r.Claim != nil {
				add(*r.Claim)
			}
		}
	}
	for _, f := range otherFamilies {
		words := strings.SplitN(f, " ", 3)
		add(pick{Folder: words[0], Table: words[1], Family: words[2]})
	}
	return all
}

// otherFamilies are in notebooks and docs/results.md alone.
var otherFamilies = []string{
	"A-evidence sun2021/table2 consistency",
	"A-evidence sun2021/table2 best",
	"A-evidence sun2021/table3 consistency",
	"A-evidence sun2021/table3 best",
	"A-evidence sun2021/table3 views",
	"A-evidence sun2021/table3 overfit",
	"A-scratch sun2021/scratch-methods views",
	"A-scratch sun2021/scratch-code code",
	"A-evidence X/best longer",
	"A-evidence X/best best",
	"A-evidence X/best views",
	"causes-evidence evidence-level left",
	"causes-evidence evidence-causes gain",
	"long-evidence evidence-long left",
	"causes-evidence evidence-noised noised",
	"causes-evidence evidence-half half",
	"standard-evidence standard-start views",
	"pass-evidence evidence-pass passes",
	"macer-evidence evidence-macer passes",
	"B bitterwolf2020/table1 fmnist quantile",
	"B bitterwolf2020/table1 animals guarantee",
	"B bitterwolf2020/table1 animals quantile",
	"B bitterwolf2020/table1 animals cost",
	"B bitterwolf2020/table1 mnist-8k noise",
	"B bitterwolf2020/table1 mnist-8k attacked",
	"B bitterwolf2020/table1 fmnist accuracy",
	"B bitterwolf2020/table9 fmnist guarantee",
	"C fridovich2022/table2 accuracy",
	"C fridovich2022/table2 paths",
	"D-evidence emde2025/table7 exact",
	"D-evidence emde2025/table7-further push",
}
