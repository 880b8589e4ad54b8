package report

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/table"
)

func (r *Report) subject(d *document) {
	h := &r.Header
	id := h.Model.Identity
	or := func(s string) string {
		if s == "" {
			return table.None
		}
		return s
	}
	seed := fmt.Sprintf("%d, derived from model, data and settings", h.Seed)
	if h.SeedChosen {
		seed = fmt.Sprintf("%d, chosen by who ran it", h.Seed)
	}
	d.add(heading("Model, data and seed"), facts(
		"model", h.Model.Name,
		"input", fmt.Sprintf("%d × %d × %d values", h.Model.Shape.Height, h.Model.Shape.Width, h.Model.Shape.Channels),
		"classes", h.Model.Classes,
		"weights", id.Weights,
		"engine", strings.TrimSpace(id.Engine+" "+id.EngineVersion),
		"threads, instruction set", fmt.Sprintf("%d, %s", id.Threads, or(id.InstructionSet)),
		"data", r.source(),
		"digest of the data", h.Data.Digest,
		"images in the data", h.Data.Images,
		"seed of the noise", seed,
		"program", strings.TrimSpace("certspec "+h.Program.Version+" "+h.Program.Commit),
		"format of the ledger", fmt.Sprintf("version %d", h.Version),
		"digest of the ledger", or(r.Digest),
	))
	d.add(words(SeedNote(*h)))
}

func (r *Report) rule(d *document) {
	h := &r.Header
	d.add(heading("How many noise samples, and how the failure probability is spent"))
	looks := h.Rule.Looks
	last := ledger.Level{}
	if len(looks) > 0 {
		last = looks[len(looks)-1]
	}
	var text string
	switch h.Rule.Name {
	case "fixed":
		text = printable.Sprintf("**Fixed.** Every image gets %d noise samples behind its bound, one Clopper-Pearson "+
			"bound with all of α.", last.Samples)
	case "staged":
		text = printable.Sprintf("**Staged.** There are %d planned looks, after %s noise samples; each has a "+
			"Clopper-Pearson bound at α/%d = %.3g. By the union bound all of them hold together with probability at "+
			"least 1 − α, so the best counts, and when to stop may depend on what was seen. An image ends when its "+
			"radius would grow by at most %g were the remaining noise samples to hit as often as those before.",
			len(looks), samples(looks), len(looks), last.Alpha, h.Rule.Tolerance)
	case "iss":
		unit := ""
		if h.Rule.Relative {
			unit = " of the radius"
		}
		text = printable.Sprintf("**Input-specific.** The noise samples that choose the class also choose how many fresh "+
			"ones follow, at most %d, so that about %g%s is given up against that many; one Clopper-Pearson bound "+
			"on the fresh noise samples alone with all of α. The noise samples that chose their number enter no bound.",
			last.Samples, h.Rule.Tolerance, unit)
	case "betting":
		var radii []string
		for _, t := range h.Rule.Targets {
			radii = append(radii, fmt.Sprintf("%g", t.Radius))
		}
		text = printable.Sprintf("**Betting.** The radii %s are tested in ascending order by a bet against “the "+
			"probability is too small for this radius”: a radius is certified at the first of %d looks where the "+
			"wealth reaches 1/α. By Ville's inequality this happens for a false one with probability at most α, at "+
			"all looks together; α is not split over the radii, since the first false one in the order is fixed "+
			"before anything is drawn. Radii are therefore certified in these steps only. An image ends, too, when "+
			"the mirrored bet says at level %g that the next radius is hopeless.",
			strings.Join(radii, ", "), len(looks), h.Rule.Futility)
	case "anytime":
		text = printable.Sprintf("**Anytime.** Noise samples went, in rounds, to the images whose radius was expected to "+
			"gain most by them, until the run was stopped; how many an image got depends on all that was seen. Its "+
			"bound is the lower end of a confidence sequence, a beta-binomial mixture with the prior Beta(60p, "+
			"60(1−p)) against each probability p, which by Ville's inequality holds at all numbers of samples up to "+
			"%d together with probability at least 1 − α, whatever the other images show. So the run may be stopped "+
			"by anybody at any time, and go on later.", last.Samples)
	default:
		text = "A rule that this program does not know: ¤."
	}
	literals := []string(nil)
	if strings.Contains(text, "¤") {
		literals = []string{string(h.Rule.Name)}
	}
	d.add(words(text, literals...))
	d.add(words("In the words of the ledger: ¤. These, the looks and the seed stand in its first line, written "+
		"before the first noise sample was drawn.", h.Rule.Budget))
	limit := fmt.Sprintf("No radius above %.6f can come out.", r.RadiusCap)
	if r.RadiusCap == 0 {
		limit = ""
	}
	d.add(words(strings.TrimSpace(printable.Sprintf("The class of an image is chosen by its first %d noise samples, "+
		"which enter no bound. A block of %d noise samples is one call of the model. %s", h.Selection, h.Block, limit))))
}

// samples lists the samples of the looks, or their ends where there are many.
func samples(looks []ledger.Level) string {
	const most = 14
	var parts []string
	for _, l := range looks {
		parts = append(parts, printable.Count(l.Samples))
	}
	if len(parts) > most {
		parts = append(append(parts[:4:4], "…"), parts[len(parts)-2:]...)
	}
	return strings.Join(parts, ", ")
}

// replay is how the ledger's blocks are computed again: a model that ran in Python is in no file.
func (r *Report) replay(file string) code {
	model := " --model PATH"
	switch id := r.Header.Model.Identity; {
	case id.Engine == "pipe" && inPython.MatchString(id.Weights):
		return code{"import certspec  # in Python, with the same model, images and labels", "certspec.replay(model, " +
			fmt.Sprintf("%q", r.File) + ", images, labels)"}
	case id.Engine == "pipe":
		model = " --exec COMMAND"
	}
	return code{"certspec ledger replay " + file + model + " --data " + quote(r.source())}
}

// inPython finds the identity of a model that the Python package served: how images enter it stands at the end.
var inPython = regexp.MustCompile(`^none stated|, (chw|hwc)(, mean \[[^]]*\])?(, std \[[^]]*\])?$`)

func (r *Report) commands(d *document) {
	file := quote(r.File)
	d.add(heading("Check it"), code{"certcheck " + file, "certspec ledger verify " + file}, r.replay(file))
	if !r.Complete {
		d.add(words("An unfinished ledger has no claims yet: certcheck and verify refuse it until the run is complete."))
	}
}

func (r *Report) checks(d *document) {
	d.add(heading("What the checks show"),
		words("**Without the model** (¤). An independent program of the standard library alone, which shares no code "+
			"with the one that wrote the ledger, recomputes in exact arithmetic that every bound satisfies its tail "+
			"inequality under the rule and the budget of the header, that no radius is overstated, that looks and "+
			"blocks are those announced, that average radius and accuracies follow, and the digest. The command ¤ "+
			"derives every claim again with the program's own code and compares digit by digit. "+
			"Neither can tell whether the counts are those of the model: somebody who makes up counts, and a digest "+
			"to go with them, passes both. Publish the digest where it cannot be changed later.", "certcheck",
			"ledger verify"),
		words("**With the model** (¤). The noise of every noise sample follows from the seed, so that any block can be "+
			"computed again; a replay of some images reports every count that comes out otherwise. With the engine, "+
			"the version and the instruction set named above the counts are equal to the last one; elsewhere "+
			"near-ties may flip.", "ledger replay"))
}
