package recipe

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/feedforward"
)

// ForeignSets say against which images the networks of a kind of data are measured, and in which balls around them.
type ForeignSets struct {
	Epsilon float64 `yaml:"epsilon" json:"epsilon"` // largest change of a value, 1 = full range
	Near    float64 `yaml:"near,omitempty" json:"near,omitempty"`
	// kinds of data, whose test parts they are, prepared as in out[channels=grey]
	Foreign []string `yaml:"foreign" json:"foreign"`
	Images  []string `yaml:"-" json:"images,omitempty"` // the same as names of sets
	Attack  string   `yaml:"-" json:"attack,omitempty"` // what of them is attacked

	way, among string // of a measure, where it has them: its bounds and its networks; they stand in the names of files
}

// ForeignData are the sets by the kind of data that a network is for.
type ForeignData map[string]ForeignSets

// at fills in the names of the sets.
func (d ForeignData) at(s *Setup) (ForeignData, error) {
	d = maps.Clone(d)
	for kind, of := range d {
		if !(of.Epsilon >= 0 && of.Epsilon <= 1) {
			return nil, fmt.Errorf("experiment: %s: epsilon is %v; expected a number from 0 to 1", kind, of.Epsilon)
		}
		of.Images, of.Attack = nil, s.Tier.Images["attack"]
		for _, name := range of.Foreign {
			base, prepared := CutSelection(name)
			_, test, err := s.Sets(base)
			if err != nil {
				return nil, err
			}
			of.Images = append(of.Images, Select(Select(test, prepared), s.Tier.Data[base].Test))
		}
		d[kind] = of
	}
	return d, nil
}

// Set is the place of a set of a kind of data.
func (d ForeignData) Set(data, part string) (ForeignSets, int) {
	f := d[data]
	return f, slices.IndexFunc(f.Foreign, func(name string) bool { return SetName(name) == part })
}

// SetName is a set's name without what is done to it.
func SetName(name string) string {
	base, _ := CutSelection(name)
	return base
}

// Endings of the files of a foreign set; in ownFile are a network's own images.
const (
	OwnScoresFile = "in.ood"
	BoundEnds     = ".ood"
	AttackEnds    = ".attack.ood"
	transferEnds  = ".transfer.ood"
	PointsEnds    = ".npy"
)

// BoundEnding and transferEnding are those of what a measure has for itself.
func (f ForeignSets) BoundEnding() string { return Suffixed(f.way, BoundEnds) }

// TransferEnding ends the name of the file of transferred attacks.
func (f ForeignSets) TransferEnding() string { return Suffixed(f.among, transferEnds) }

// Bounds names those of the measure, where they are not by rigorous intervals.
func (f ForeignSets) Bounds() string { return f.way }

// By is Areas.By.
func (f ForeignSets) By() string { return cmp.Or(f.way, f.among) }

// Suffixed puts a word before the ending of a file's name.
func Suffixed(word, ending string) string {
	if word != "" {
		return "." + word + ending
	}
	return ending
}

// with are the sets of a measure.
func (d ForeignData) with(way, among string) ForeignData {
	d = maps.Clone(d)
	for kind, of := range d {
		of.way, of.among = way, among
		d[kind] = of
	}
	return d
}

// Attack is how well a network's confidence tells foreign images that are attacked from
// its own: files in ood/MODEL, as "certspec ood attack" writes them. Where all networks of a table
// are attacked, each is attacked again from the best points of the others of its data. An image
// whose confidence under attack lies above its bound fails the run.
type Attack struct {
	Sets ForeignData `yaml:"sets" json:"sets"`
	// Among names the networks that give each other their points, where a table of the same
	// networks among others has its own; default none.
	Among string `yaml:"among,omitempty" json:"among,omitempty"`
}

func (a *Attack) at(s *Setup) (Measure, error) {
	sets, err := a.Sets.at(s)
	if a.Among != "" && filepath.Base(a.Among) != a.Among {
		return nil, fmt.Errorf("experiment: attacks among %q; expected a word, which stands in the names of files",
			a.Among)
	}
	return &Attack{sets, a.Among}, err
}

// Foreign are the sets, with what their files are named by.
func (a *Attack) Foreign() ForeignData { return a.Sets.with("", a.Among) }

// TransferJob is the kind of the attacks from the points of other networks.
const TransferJob = "transfer"

// Ending is that of the file of a kind of job.
func (a *Attack) Ending(kind string) string {
	if kind == TransferJob {
		return Suffixed(a.Among, transferEnds)
	}
	return AttackEnds
}

// Bound is how well a network's confidence tells foreign images from its own, by the images
// themselves and by bounds that hold in balls around them: files in ood/MODEL, as "certspec ood
// bound" writes them. By another method than intervals, or in plain arithmetic, the bounds stand
// beside those by rigorous intervals, which are those of all tables of the folder.
type Bound struct {
	Sets ForeignData `yaml:"sets" json:"sets"`
	// default ibp, as in the paper
	Method     feedforward.Method     `yaml:"method,omitempty" json:"method,omitempty"`
	Arithmetic feedforward.Arithmetic `yaml:"arithmetic,omitempty" json:"arithmetic,omitempty"` // default rigorous
	// of each set, as in skip=4, where the bounds are other ones; default all
	Images string `yaml:"images,omitempty" json:"images,omitempty"`
}

func (b *Bound) at(s *Setup) (Measure, error) {
	now := &Bound{Method: b.BoundMethod(), Images: b.Images}
	if b.Arithmetic != feedforward.Rigorous {
		now.Arithmetic = b.Arithmetic
	}
	methods, arithmetics := []feedforward.Method{feedforward.IBP, feedforward.CROWN, feedforward.FullCROWN},
		[]feedforward.Arithmetic{"", feedforward.Plain}
	switch {
	case !slices.Contains(methods, now.Method):
		return nil, fmt.Errorf("experiment: bounds by the method %q; expected one of %q", b.Method, methods)
	case !slices.Contains(arithmetics, now.Arithmetic):
		return nil, fmt.Errorf("experiment: bounds in the arithmetic %q; expected %q or %q", b.Arithmetic,
			feedforward.Rigorous, feedforward.Plain)
	case b.Images != "" && now.Way() == "":
		return nil, fmt.Errorf("experiment: bounds of the images %q; those by %s in rigorous arithmetic are of all",
			b.Images, feedforward.IBP)
	}
	var err error
	now.Sets, err = b.Sets.at(s)
	return now, err
}

// Way names bounds that are not those by rigorous intervals, as in crown-plain; else it is empty.
func (b *Bound) Way() string {
	var words []string
	if b.BoundMethod() != feedforward.IBP {
		words = append(words, string(b.BoundMethod()))
	}
	if b.Arithmetic != "" {
		words = append(words, string(b.Arithmetic))
	}
	return strings.Join(words, "-")
}

// Foreign are the sets, with what their files are named by.
func (b *Bound) Foreign() ForeignData { return b.Sets.with(b.Way(), "") }

// BoundMethod is Method, or its default.
func (b *Bound) BoundMethod() feedforward.Method { return cmp.Or(b.Method, feedforward.IBP) }
