package cite

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// Software is the entry of certspec in the version that began a ledger.
func Software(p ledger.Program) Entry {
	e := Entry{"software", "certspec", []Field{
		{"title", "certspec: certified robustness of image classifiers in {Go}"},
		{"author", "{The certspec authors}"},
		{"url", "https://github.com/certspec/certspec"},
		{"license", "Apache-2.0"},
		{"version", tex(p.Version)},
	}}
	if p.Commit != "" {
		e.Fields = append(e.Fields, Field{"note", "commit " + tex(p.Commit)})
	}
	return e
}

// Papers are those that the claims of a run rest on: randomized smoothing and the average certified radius, the
// bound, the rule, and the noise.
func Papers(h ledger.Header) []Entry {
	papers := []Entry{cohen, zhai}
	switch h.Rule.Name {
	case rs.Anytime:
		papers = append(papers, waudbySmith)
	case rs.Betting:
		papers = append(papers, waudbySmith, voracek)
	case rs.ISS:
		papers = append(papers, clopperPearson, chen)
	default:
		papers = append(papers, clopperPearson)
	}
	if h.Noise.Sound() {
		papers = append(papers, voracekHein)
	}
	return papers
}

// Ledger is the entry of the ledger itself. Name is the file's, without folders; digest that of its
// last line, empty for an unfinished one.
func Ledger(name, digest string, h ledger.Header) Entry {
	e := Entry{"misc", "ledger", []Field{
		{"title", tex(fmt.Sprintf("Certification of %s on %s, σ = %v, α = %v: ledger", h.Model.Name,
			printable.DataTitle(h.Data.Name), h.Sigma, h.Alpha))},
		{"howpublished", "certspec ledger, file " + tex(name)},
	}}
	if sum, ok := strings.CutPrefix(digest, "sha256:"); ok && len(sum) >= 8 {
		e.Key += "-" + sum[:8]
		e.Fields = append(e.Fields, Field{"note", fmt.Sprintf("SHA-256 %s; format %d, certspec %s; %s", sum, h.Version,
			tex(h.Program.Version), tex(Command(name, h)))})
	} else {
		e.Fields = append(e.Fields, Field{"note", fmt.Sprintf("unfinished; format %d, certspec %s; %s", h.Version,
			tex(h.Program.Version), tex(Command(name, h)))})
	}
	return e
}

// Command is the command that makes a ledger anew, as far as its header says: the model and the preparation of
// the data are in it by their names, with the decoder of JPEG pictures, which earlier ledgers do not name.
func Command(name string, h ledger.Header) string {
	data := h.Data.Name
	if d, err := dataset.OpenLike(data, data); err == nil {
		data = d.String()
	}
	data = printable.DataSource(data)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	words := []string{"certspec certify", "--model", h.Model.Name, "--data", data,
		"--sigma", number(h.Sigma), "--alpha", number(h.Alpha), "--rule", string(h.Rule.Name)}
	if n := len(h.Rule.Looks); n > 0 {
		words = append(words, "--n", strconv.Itoa(h.Rule.Looks[n-1].Samples))
	}
	words = append(words, "--n0", strconv.Itoa(h.Selection), "--block", strconv.Itoa(h.Block))
	if h.Rule.Tolerance != 0 {
		words = append(words, "--tolerance", number(h.Rule.Tolerance))
	}
	if h.Rule.Relative {
		words = append(words, "--relative")
	}
	if len(h.Rule.Targets) > 0 {
		radii := make([]string, len(h.Rule.Targets))
		for i, t := range h.Rule.Targets {
			radii[i] = number(t.Radius)
		}
		words = append(words, "--targets", strings.Join(radii, ","), "--futility", number(h.Rule.Futility))
	}
	law, _, _ := strings.Cut(string(h.Noise), "/")
	words = append(words, "--noise", law)
	if h.SeedChosen {
		words = append(words, "--seed", strconv.FormatUint(h.Seed, 10))
	}
	if s := h.Shard; s != nil {
		words = append(words, "--shard", fmt.Sprintf("%d/%d", s.Index, s.Count), "--shard-by", s.By)
	}
	return strings.Join(append(words, "--out", name), " ")
}

// Model is the entry of a trained network: what its card says of how it was made.
type Model struct {
	Name, Weights string // "sha256:…"
	Training      string // in words
	Command       string // that trained it
}

// Entry is the model. Training on Gaussian noise is that of Cohen et al., who are among Papers.
func (m Model) Entry() Entry {
	e := Entry{"misc", "model", []Field{{"title", tex("Image classifier " + m.Name)},
		{"howpublished", "certspec model file"}}}
	if sum, ok := strings.CutPrefix(tex(m.Weights), "sha256:"); ok && len(sum) >= 8 {
		e.Key += "-" + sum[:8]
		e.Fields = append(e.Fields, Field{"note", strings.TrimSuffix(fmt.Sprintf("SHA-256 of the weights %s; %s; %s",
			sum, tex(m.Training), tex(m.Command)), "; ")})
	}
	return e
}
