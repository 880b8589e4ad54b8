package report

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/noise"
	"github.com/certspec/certspec/table"
)

// document is the report in words; the picture may be nil. A reader's page comes first, and then what
// only a reviewer asks. Each number stands in one of both.
func (r *Report) document(p *picture) *document {
	h := &r.Header
	d := &document{title: fmt.Sprintf("Certification of %s on %s", h.Model.Name, r.data())}
	r.status(d)
	r.results(d, p)
	r.claimed(d)
	r.commands(d)
	d.add(heading(ForReviewers))
	r.terms(d)
	r.assumed(d)
	r.notClaimed(d)
	r.counts(d)
	r.population(d)
	r.falseClaims(d)
	r.subject(d)
	r.rule(d)
	r.checks(d)
	return d
}

// ForReviewers is the heading behind the reader's page.
const ForReviewers = "For the reviewer"

// data is the name of the data as titles have it.
func (r *Report) data() string { return cmp.Or(r.DataName, printable.DataName(r.Header.Data.Name)) }

// source is the name of the data as a command takes it, without the folders of the machine of the run.
func (r *Report) source() string { return cmp.Or(r.DataName, printable.DataSource(r.Header.Data.Name)) }

func (r *Report) status(d *document) {
	switch {
	case !r.Complete:
		d.add(words(printable.Sprintf("**Unfinished.** The ledger ¤ decides %d of %d images so far and is not closed: its "+
			"figures are of these images only, and it has no digest.", r.Decided, r.Images), r.name()))
	case r.Header.Shard != nil:
		d.add(words(printable.Sprintf("The ledger ¤ is closed. It is **shard %d of %d** of a run: its figures are of its "+
			"%d images only.", r.Header.Shard.Index+1, r.Header.Shard.Count, r.Images), r.name()))
	default:
		d.add(words(printable.Sprintf("The ledger ¤ is closed: it claims something of each of %d images, and ends with "+
			"the digest below.", r.Images), r.name()))
	}
	if r.Simultaneous {
		d.add(words(fmt.Sprintf("**All claims at once.** The figures of this report are derived again from the "+
			"ledger's counts at the level α/N = %.3g per image, so that all claims hold together with probability "+
			"at least %g. They are lower than those that the ledger itself states, at α = %g for each image alone.",
			r.Alpha, 1-r.LedgerAlpha, r.LedgerAlpha)))
	}
}

func (r *Report) claimed(d *document) {
	h := &r.Header
	d.add(heading("What is claimed"))
	if strings.Contains(h.Model.Identity.Weights, quantize.Identity) {
		d.add(words("**The certificate is of the quantised network**, which computes in 8-bit integers, and not of " +
			"the network in float32 that it was made of: on the same input the two may answer differently, so " +
			"nothing here holds for the other one."))
	}
	if h.Model.Identity.Engine == "integers" {
		d.add(words("**The certificate is of the integer network**, every step of which is integer arithmetic, and not " +
			"of the network in float32 that it was made of. It gives the same answers on every machine, so that " +
			"every block can be computed again anywhere. How often the two answer differently stands in " +
			"its file, and commands that open it say so."))
	}
	d.add(words(fmt.Sprintf("For each image x on which the ledger does not abstain it names a class and a radius R. "+
		"The claim: **the smoothed classifier g answers this class on every input whose ℓ₂ distance from x is below "+
		"R**, where 1 is the full range of a value. It is false with probability at most α = %.3g, for each image. "+
		"Nothing is claimed of the model without noise.", r.Alpha)))
}

// terms explains the words of the claim.
func (r *Report) terms(d *document) {
	h := &r.Header
	values := h.Model.Shape.Height * h.Model.Shape.Width * h.Model.Shape.Channels
	d.add(heading("The terms of the claim"), list{
		words(fmt.Sprintf("**Smoothed classifier.** g(x) is the class that the model gives most often to x plus "+
			"Gaussian noise of standard deviation σ = %g, and R = σ·Φ⁻¹(p) for a lower bound p on the probability "+
			"of that class (Cohen, Rosenfeld and Kolter 2019).", h.Sigma)),
		words("**Failure.** The probability α is over the noise that was drawn, whatever the model is."),
		words(printable.Sprintf("**Norm.** ℓ₂ over all %d values of an image (%d × %d × %d), where 1 is the full "+
			"range of a value: a byte b counts as b/255. Below r = 0.25 lie, for example, a change of one value "+
			"by less than a quarter of its range, and one of all values by %.2f of 255 each.",
			values, h.Model.Shape.Height, h.Model.Shape.Width, h.Model.Shape.Channels,
			math.Floor(100*0.25*255/math.Sqrt(float64(max(1, values)))*(1-1e-12))/100)),
		words("**Pixels.** " + r.pixels()),
		words("**Noise.** " + r.noise()),
	})
}

// pixels says in which pixels the radius is.
func (r *Report) pixels() string {
	data, err := dataset.Open(r.Header.Data.Name)
	if err != nil { // a name by --data-name, which says the preparation all the same
		data, err = dataset.Open("folder:" + r.Header.Data.Name)
	}
	if err != nil {
		return "Those that the data set of this name hands over. This program cannot read the name, so it cannot " +
			"say whether they were resized before."
	}
	p := data.Preparation()
	var done []string
	if p.Resize != (dataset.Size{}) {
		done = append(done, "resized to "+p.Resize.String())
	}
	if p.Crop != (dataset.Size{}) {
		done = append(done, "cropped to "+p.Crop.String())
	}
	if len(done) == 0 {
		return "Those of the data set, as stored: nothing was resized or cropped."
	}
	return fmt.Sprintf("The images were %s before any noise. The radius is in the pixels that came out, and bounds "+
		"no change of the picture before that.", strings.Join(done, " and "))
}

func (r *Report) noise() string {
	switch r.Header.Noise {
	case noise.LawGrid:
		return "The Gaussian rounded to the grid of 8-bit images and clamped, which is part of what is smoothed; " +
			"this discrete law is sampled without rounding error. The claims hold in floating point, for inputs " +
			"whose values are multiples of 1/255."
	case noise.LawGaussian:
		return "Gaussian in floating point. The claims hold for real arithmetic: rounding errors of the noise, and " +
			"of adding it, are not accounted for."
	}
	if sd, more := r.Header.Noise.Grey(); more {
		return fmt.Sprintf("The Gaussian rounded to the grid of 8-bit images, a shift of all values together with "+
			"standard deviation %v, in whole levels, and a clamp, which are part of what is smoothed; this discrete "+
			"law is sampled without rounding error. The claims hold in floating point, for inputs whose values are "+
			"multiples of 1/255.", sd)
	}
	return fmt.Sprintf("A law that this program does not know: %q.", r.Header.Noise)
}

func (r *Report) assumed(d *document) {
	look := "Before a run it compares answers to the same image alone, in a block again, in another order and " +
		"beside other images, so that answers of which 5 % are random are missed with probability 10⁻⁶."
	if f := r.Look; f != nil {
		look = printable.Sprintf("Before this run it compared %d answers to the same image alone, in a block again, in "+
			"another order and beside other images: answers of which 5 %% are random are missed with probability "+
			"%.2g at most.",
			f.Comparisons, f.Missed(r.Header.Model.Classes))
	}
	text := "No noise samples were asked again during the run, or there is no record of it beside the ledger."
	if f := r.Checks; f.Comparisons > 0 {
		text = printable.Sprintf("During the run and at its end %d noise samples were asked again: %d answers differed by "+
			"more than rounding, and %d in the class alone.", f.Comparisons, f.Beyond, f.Changed)
		if f.Contradicted() {
			text = "**This was contradicted.** " + text
		}
	}
	d.add(heading("What is assumed"),
		words("**The model is a deterministic function of one image, not of the batch.** A model that draws random "+
			"numbers, learns from what it sees, or lets an answer depend on the other images of a batch has no "+
			"smoothed classifier in this sense, and its counts prove nothing. certspec tests this. "+look+" "+text+
			" A model that was made to pass cannot be excluded by tests."))
}

func (r *Report) notClaimed(d *document) {
	d.add(heading("What is not claimed"), list{
		words("Nothing about the model without noise, or about a single noise sample. Only g is certified, and "+
			"whoever uses it must draw noise and count votes, too: a prediction of g from finitely many noise "+
			"samples has a failure probability of its own (¤).", "certspec predict"),
		words("Nothing in another norm, and nothing about turning, shifting, blurring or other changes that are " +
			"large in ℓ₂."),
		words("That a certified class is right. Certified accuracy counts only those that agree with the labels; " +
			"the labels are taken as they are."),
		words("Nothing about other images, but for the intervals below, which take these images for a random sample."),
		words("That the counts are those of the model: the ledger records them, and a replay tests them (last section)."),
	})
}

// results are the figures that a reader looks for.
func (r *Report) results(d *document, p *picture) {
	accuracies := &table.Table{Columns: []string{"radius", "images", "of", "certified accuracy", "low", "high"}}
	for _, a := range r.CertifiedAccuracy {
		row := []any{fmt.Sprint(a.Radius), table.None, a.Images, table.None, table.None, table.None}
		if a.Images > 0 {
			row = []any{fmt.Sprint(a.Radius), a.Count, a.Images, four(a.Value), lowEnd(a.Interval.Low),
				highEnd(a.Interval.High)}
		}
		accuracies.Rows = append(accuracies.Rows, row)
	}
	d.add(accuracies)
	acr := "Average certified radius: " + table.None + " (no image has a label)"
	if r.ACR != nil {
		acr = fmt.Sprintf("Average certified radius: **%.4f** (%v to %v)", r.ACR.Value, lowEnd(r.ACR.Interval.Low),
			highEnd(r.ACR.Interval.High))
	}
	d.add(words(printable.Sprintf("%s. Abstained: %d of %d images. Noise: σ = %g. Low and high are %g %% intervals for "+
		"the population behind the images.", acr, r.Abstained, r.Decided, r.Header.Sigma, 100*r.Bootstrap.Confidence)))
	if p != nil {
		d.add(*p)
	}
}

// counts are what the figures rest on.
func (r *Report) counts(d *document) {
	d.add(heading("Counts"))
	t := facts()
	add := func(name string, value any) { t.Rows = append(t.Rows, facts(name, value).Rows...) }
	if r.Labelled > 0 {
		add("certified, and the class is right", r.Correct)
		add("certified, but the class is not the label's", r.Wrong)
	} else {
		add("certified, and the class is right", table.None)
		add("certified, but the class is not the label's", table.None)
	}
	add("without a label, counted in no accuracy", r.Decided-r.Labelled)
	add("noise samples through the model", r.Passes)
	add("misses: noise samples whose output was not finite, or whose noise failed", r.Misses)
	d.add(t)
	if r.Misses > 0 {
		d.add(words("A miss is counted as a noise sample of another class: it lowers bounds, and never certifies."))
	}
	d.add(words("Certified accuracy at radius r is the fraction of the labelled images whose class is right and whose " +
		"radius is at least r; abstentions count as failures. Its interval is the exact two-sided one of Clopper and " +
		"Pearson."))
	if r.ACR != nil {
		form := printable.Sprintf("%d resamples of the images, seed %d", r.Bootstrap.Resamples, r.Bootstrap.Seed)
		if r.Labelled > 20_000 { // see resample.Means
			form = "computed for so many images, without resamples"
		}
		by := fmt.Sprintf("the bootstrap (percentile form, %s)", form)
		if r.Labelled < compare.LeastImages {
			by = compare.MethodOf(r.Labelled, r.Bootstrap)
		}
		d.add(words(fmt.Sprintf("The average certified radius counts wrong classes and abstentions as 0. Its interval "+
			"is of %s.", by)))
	}
	if r.Bounds.Images == 0 {
		return
	}
	quantiles := &table.Table{Columns: []string{"share of the certified images", "lower bound"}}
	for _, q := range r.Bounds.Quantiles {
		quantiles.Rows = append(quantiles.Rows, []any{fmt.Sprintf("%g %%", 100*q.Share),
			table.Rounded{Value: math.Floor(1e6*q.Lower) / 1e6, Decimals: 6}})
	}
	histogram := &table.Table{Columns: []string{"lower bound", "certified images"}}
	for _, b := range r.Bounds.Histogram {
		histogram.Rows = append(histogram.Rows, []any{fmt.Sprintf("from %g to below %g", b.From, b.To), b.Count})
	}
	d.add(words("How the lower bounds on the probability of the class are distributed:"), quantiles, histogram)
}

func (r *Report) population(d *document) {
	d.add(heading("From these images to the population"))
	if r.Labelled == 0 {
		d.add(words("No image has a label, so nothing is said of the accuracy on a population."))
		return
	}
	d.add(words(fmt.Sprintf("If these images are a random sample of a population, the interval beside a certified "+
		"accuracy holds, with probability at least %g, the fraction of that population on which this procedure "+
		"certifies the right class at that radius. Since a claim is false with probability at most α, the fraction "+
		"on which g truly is right on the whole ball is at least the lower end minus α = %.3g, with the same "+
		"confidence.", r.Bootstrap.Confidence, r.Alpha)))
}

func (r *Report) falseClaims(d *document) {
	d.add(heading("How many claims may be false"))
	d.add(words(printable.Sprintf("Each claim is false with probability at most %.3g, so **among %d images at most "+
		"%.3g false claims are to be expected** (at α = 0.001, 2 in 2,000).", r.Alpha, r.Decided, r.ExpectedFalse)))
	switch all := 1 - r.LedgerAlpha; {
	case r.Simultaneous:
		d.add(words(printable.Sprintf("These claims are derived at the level %g divided by the %d images of the data: by "+
			"the union bound all of them hold together with probability at least %g. Nothing had to be drawn again, "+
			"since neither the noise samples nor the looks depend on the level that bounds are derived at.",
			r.LedgerAlpha, r.Header.Data.Images, all)))
	case r.ExpectedFalse < 1:
		d.add(words(fmt.Sprintf("All of them hold together with probability at least %.4g, by the union bound. A "+
			"report at the level α/N, in which all hold together with probability at least %g, is made by:",
			math.Floor(1e4*(1-r.ExpectedFalse))/1e4, all)))
	default:
		d.add(words(printable.Sprintf("That they all hold together is not claimed: the union bound over %d images says "+
			"nothing. A report at the level α/N, in which all hold together with probability at least %g, is made by:",
			r.Decided, all)))
	}
	if !r.Simultaneous {
		d.add(code{"certspec report " + quote(r.File) + " --simultaneous"})
	}
}

func four(v float64) table.Rounded { return table.Rounded{Value: v, Decimals: 4} }

// lowEnd and highEnd round an interval outwards to what is printed.
func lowEnd(v float64) table.Rounded  { return four(math.Floor(1e4*v) / 1e4) }
func highEnd(v float64) table.Rounded { return four(math.Ceil(1e4*v) / 1e4) }

// inline is an SVG document as an element of a page.
func inline(svg []byte) string {
	if i := bytes.Index(svg, []byte("<svg")); i >= 0 {
		svg = svg[i:]
	}
	return strings.TrimSpace(string(svg))
}

// quote is a path as a word of a shell.
func quote(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-+=:,@%", r)
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 && path[0] != '-' {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
