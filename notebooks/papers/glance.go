package papers

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/table"
)

// glanceText has a line for each table and figure of the four papers.
//
//go:embed glance.yaml
var glanceText []byte

// paper is a part of glance.yaml.
type paper struct {
	Key, Title, Link, Notebook, About string
	Shared                            []struct{ Word, Means string } // by its commands
	Rows                              []glanceRow
}

// glanceRow is a table or figure of a paper. Claim, as in "A evidence: the claim @ the part", takes Published, Ours,
// Difference and Verdict from the results; of several, the first that is there.
type glanceRow struct {
	At, What, Published, Ours, Difference, Verdict, Command string
	Claim                                                   []string
	Never                                                   string // why it was not run
}

func glance() (all []paper) {
	nb.Check(yaml.Unmarshal(glanceText, &all))
	return all
}

// AtAGlance is the first table of a paper's notebook: what it shows, what ours say, and the command, a line for each
// of its tables and figures. Papers are A, B, C and D.
func AtAGlance(key string) *nb.Tabular {
	k := slices.IndexFunc(glance(), func(p paper) bool { return p.Key == key })
	nb.Assert(k >= 0, "no paper %q: A, B, C or D expected", key)
	p := glance()[k]
	t := nb.Columns("where", "what it is", "published", "ours", "difference (95 %)", "verdict", "command")
	words := "$RUN stands for certspec experiment run"
	for _, w := range p.Shared {
		words += fmt.Sprintf(", $%s for %s", w.Word, w.Means)
	}
	t.Notes = []string{links.ReplaceAllString(p.About, "$1") + " " + words + "."}
	for _, r := range p.Rows {
		r = r.filled()
		if r.Never != "" { // where there is room
			r.Ours, r.Verdict = r.Never, "never run"
		}
		if m := sized.FindStringSubmatch(r.Ours); m != nil {
			note := strings.TrimSpace(fmt.Sprintf("Tier %s: %s", m[2], strings.TrimSpace(m[1]))) + "."
			if !slices.Contains(t.Notes, note) {
				t.Notes = append(t.Notes, note)
			}
			r.Ours = strings.TrimSpace(sized.ReplaceAllString(r.Ours, " tier $2"))
		}
		t.Add(strings.Replace(r.At, " ", "\u00a0", 1), r.What, r.Published, r.Ours, r.Difference, r.Verdict,
			strings.Replace(p.short(r.Command), "certspec notebook run notebooks/"+p.Notebook+".ipynb", "this notebook", 1))
	}
	return t
}

// sizes are what results are of, by kind and tier.
var sizes = map[string]string{
	"A cpu":         "small CNN, 100 images a cell (tier cpu)",
	"A evidence":    "ResNet-20 in one to three passes from one start, 500 images (tier evidence)",
	"A scratch":     "ResNet-20 from random weights, 30 epochs, 300 images (tier scratch)",
	"best evidence": "ResNet-20 in one to three passes from one start, 500 images (tier evidence)",
	"D cpu":         "small CNN (tier cpu)",
	"D evidence":    "small CNN in one pass from one start, 500 images (tier evidence)",
	"B cpu":         "digits, two starts, 2,000 images (tier cpu)",
	"C cpu":         "2,000 images (tier cpu)",
}

// Settings are the data, network and certificates of results, by kind and tier, as the second line of a title says
// them. Data of B differ by claim, so that its titles name them.
var Settings = map[string]string{
	"A cpu":              "CIFAR-10, small CNN, 100 images, σ = 0.25, n ≤ 500, α = 0.001",
	"A evidence":         "CIFAR-10, ResNet-20, 500 images, σ = 0.25, n ≤ 2,000, α = 0.001",
	"A scratch":          "CIFAR-10, ResNet-20, 300 images, σ = 0.25, n ≤ 1,000, α = 0.001",
	"best evidence":      "CIFAR-10, ResNet-20, 500 images, σ = 0.25, n ≤ 2,000, α = 0.001",
	"from evidence-long": "CIFAR-10, ResNet-20, 500 images, σ = 0.25, n ≤ 2,000, α = 0.001",
	"B cpu":              "L at an eighth of its width, 2,000 images",
	"C cpu":              "CIFAR-10 (JPEG copy), severities 1, 3 and 5, 177 networks, 2,000 images",
	"D evidence":         "FashionMNIST, small CNN, 500 images, σ = 0.25, n = 10,000, α = 0.001",
}

// filled takes what the results say, and – for the rest.
func (r glanceRow) filled() glanceRow {
	for _, address := range r.Claim {
		from, claim, _ := strings.Cut(address, ": ")
		claim, at, _ := strings.Cut(claim, " @ ")
		f := Found(from)
		if f == nil {
			continue
		}
		k := slices.IndexFunc(f.List, func(of Finding) bool { return of.Claim == claim })
		if k < 0 {
			continue
		}
		n := 0
		if at != "" {
			n = slices.IndexFunc(f.List[k].Parts, func(p Part) bool { return strings.TrimSuffix(p.Name, ":") == at })
		}
		nb.Assert(n >= 0 && n < len(f.List[k].Parts), "%s: no part %q", address, at)
		p := f.List[k].Parts[n]
		r.Difference, r.Verdict = f.number(p), inWords(f.List[k].Verdict)
		r.Ours = strings.TrimPrefix(p.Of+"; "+sizes[from[:strings.IndexAny(from+" ", " ")]+" "+f.Tier], "; ")
		if p.Published != nil {
			r.Published += fmt.Sprintf(" (difference %s)", f.plain(*p.Published))
		}
		break
	}
	if r.Never != "" {
		r.Verdict = "never run: " + r.Never
	}
	for _, cell := range []*string{&r.Published, &r.Ours, &r.Difference, &r.Verdict, &r.Command} {
		if *cell == "" {
			*cell = table.None
		}
	}
	return r
}

// foundText holds the findings of all committed results, which take minutes to compute.
//
//go:embed findings.json
var foundText []byte

var found = sync.OnceValue(func() (all map[string]*Findings) {
	nb.Check(json.Unmarshal(foundText, &all))
	for name, f := range all {
		f.kind, _, _ = strings.Cut(name, " ")
	}
	return all
})

// Found are findings by the committed results of one kind: "A evidence", "B mnist-8k 0.3", "C", …; nil where they are
// not there. A test computes them again.
func Found(name string) *Findings { return found()[name] }

// sources are all of them.
var sources = []string{"A evidence", "A cpu", "A scratch", "more", "best evidence", "best cpu", "D evidence", "D cpu",
	"B mnist-8k 0.3", "B mnist-8k 0.4", "B fmnist 0.1", "B fmnist 0.2", "B animals 0.01", "B animals 0.03",
	"goals mnist-8k 0.3", "goals fmnist 0.1", "C", "C learned",
	"from causes causes-gain clean", "from causes-evidence evidence-causes mACR C",
	"from causes-evidence evidence-level mACR C", "from long-evidence evidence-long mACR C",
	"from causes-evidence evidence-noised mACR C", "from causes-evidence evidence-half mACR C",
	"from standard-evidence standard-start mACR C", "from pass-evidence evidence-pass mACR C",
	"from macer-evidence evidence-macer mACR C", "from A A/figure6 mACR F",
}

// compute computes the findings of one kind from the results in the current folder.
func compute(name string, o resample.Options) *Findings {
	key, rest, _ := strings.Cut(name, " ")
	tables := func(prefixes ...string) (found []*results.Filled) {
		for _, prefix := range prefixes {
			found = append(found, experiments(prefix, rest, o)...)
		}
		return found
	}
	var own string
	var epsilon float64
	if key == "B" || key == "goals" {
		_, err := fmt.Sscan(rest, &own, &epsilon)
		nb.Check(err)
	}
	foreign := func() *Foreign { return OpenForeign("results/experiments/B", "B/"+own+"/", epsilon) }
	switch key {
	case "A":
		return orderings(tables("A/"))
	case "more":
		return orderings([]*results.Filled{filled("A-more", "more-images", o)})
	case "best":
		return bestMethods(tables("X/best", "A/table8"))
	case "D":
		return calibration(tables("D/"))
	case "B":
		return foreign().Trends()
	case "goals":
		return foreign().Goals()
	case "C":
		return OpenStudy("results/experiments/C").Claims(rest == "")
	case "from":
		words := strings.SplitN(rest, " ", 3)
		return differences(words[2], filled(words[0], words[1], o))
	}
	nb.Assert(false, "no results are called %q", name)
	return nil
}

// page is docs/papers.md: for each paper what was judged, what is drawn alone, and what never ran.
func page() string {
	var b strings.Builder
	b.WriteString("# The four papers, table by table\n\n" +
		"For readers who ask what our runs say of a table or figure, and by which command.\n" +
		"*Shows* has the paper's sign; *open* means the run could not tell.\n" +
		"[Results](results.md) has rules of verdicts, further claims and causes.\n" +
		"Tier `scratch` trains from random weights, tier `evidence` fine-tunes one network.\n\n" +
		"`$RUN` is `certspec experiment run`; each paper begins with what its commands share.\n" +
		"[Experiments](../notebooks/results/experiments/README.md) has tiers and all commands.\n")
	for _, p := range glance() {
		p.write(&b)
	}
	return b.String()
}

// write writes a paper as a part of the page.
func (p paper) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n[The paper](%s); notebook [%s](../notebooks/%[3]s.ipynb).\n%s\n\n```sh\n",
		p.Title, p.Link, p.Notebook, p.About)
	for _, w := range p.Shared {
		fmt.Fprintf(b, "%s=%q\n", w.Word, w.Means)
	}
	b.WriteString("```\n\n")
	judged := nb.Columns("where", "what it says", "published", "ours", "difference (95 %)", "verdict", "command")
	drawn := nb.Columns("not judged", "what it shows", "made by")
	never := nb.Columns("never run", "what it is", "published", "needs", "command")
	for _, r := range p.Rows {
		r = r.filled()
		if book, ok := strings.CutPrefix(r.Command, "certspec notebook run "); ok {
			r.Command = fmt.Sprintf("[%s](../%s)", strings.TrimSuffix(filepath.Base(book), ".ipynb"), book)
		} else if r.Command != table.None {
			r.Command = "`" + p.short(r.Command) + "`"
		}
		r.Ours = strings.TrimSpace(sized.ReplaceAllString(r.Ours, " tier `$2`"))
		switch {
		case r.Never != "":
			never.Add(r.At, r.What, r.Published, needs.Replace(r.Never), r.Command)
		case r.Verdict == table.None:
			if ours := strings.Trim(drawnHere.Replace(r.Ours), " ,"); ours != "" {
				r.What += " (here: " + ours + ")"
			}
			drawn.Add(r.At, r.What, r.Command)
		default:
			judged.Add(r.At, r.What, r.Published, r.Ours, r.Difference, r.Verdict, r.Command)
		}
	}
	for i, t := range []*nb.Tabular{judged, drawn, never} {
		if len(t.Rows) > 0 {
			b.WriteString(strings.Repeat("\n", min(i, 1)) + t.Markdown())
		}
	}
}

// sized finds what sizes say of a tier, which the page says once.
var sized = regexp.MustCompile(`([^;]*)\(tier (\S+)\)`)

// links are those of the page; a notebook has their words.
var links = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// needs turns the reason why something was not run into what it needs.
var needs = strings.NewReplacer(" is not at hand", "", " are not at hand", "", "XL needs", "XL on",
	"networks need a GPU", "networks on a GPU", "needs a GPU", "a GPU", "below", "in the notebook")

// drawnHere takes away what says no more than that a picture is drawn.
var drawnHere = strings.NewReplacer("drawn", "", "below", "", "in the pictures", "", "in the notebook", "",
	"a file", "", table.None, "")

// short is a command with the words in place of what all of them share.
func (p paper) short(command string) string {
	for _, w := range p.Shared {
		command = strings.Replace(command, w.Means, "$"+w.Word, 1)
	}
	return strings.Replace(command, "certspec experiment run", "$RUN", 1)
}
