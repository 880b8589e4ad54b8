package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/study/runner"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/table"
)

// Study sets networks, recipes and published logs side by side on one data set, with claims that are fixed before the
// run. Plan, Run and Tables need package experiment, imported for its effect.
//
// Beside its folder lie FOLDER.yaml, the study as certspec experiment run reads it with --add, and FOLDER.claims.jsonl,
// when which claims were fixed. Only further rows, sets and claims go with a folder that was begun.
type Study struct {
	Samples    int    // noise samples of an image at most; 0: 1,000
	Severities []int  // of corruptions; nil: 1, 3 and 5
	Epochs     int    // of trainings at most; 0: as the recipes say
	Learn      string // images that recipes learn from, as in count=8000; "": the whole train part
	Pilot      string // folder of a study with the same rows, for Plan; "": its own
	Engine     string // what trains and certifies; "": the fastest at hand
	Progress   progress.Reporter

	folder, data string
	files        []string
	recipes      map[string]any
	rows         []any
	sets         []string
	families     map[string]Family
	err          error
}

// New is a study in a folder, which is made where it is missing, of the images of a data set with its selection, as in
// cifar10/test[skip=20]. Recipes learn from the set's train part.
func New(folder, data string) *Study {
	return &Study{folder: folder, data: data, recipes: map[string]any{}, families: map[string]Family{}}
}

// Network adds a row: a model file or an ONNX file, certified at σ.
func (s *Study) Network(title, file string, sigma float64) {
	s.rows = append(s.rows, map[string]any{"model": absolute(file), "title": title, "sigma": sigma, "data": ownData})
}

// Recipe adds a row: a recipe by its name, FILE#NAME for one of a file, trained from each seed.
func (s *Study) Recipe(title, recipe string, seeds ...uint64) {
	if file, name, ok := strings.Cut(recipe, "#"); ok {
		if recipe = name; !slices.Contains(s.files, file) {
			s.files = append(s.files, file)
		}
	}
	name := fmt.Sprintf("%s/row%d", ownData, len(s.rows)+1)
	s.recipes[name] = map[string]any{"from": recipe, "title": title, "group": title, "data": ownData, "seeds": seeds}
	s.rows = append(s.rows, name)
}

// Log adds a row: certified radii that are there, at σ, of a ledger, a published log or a CSV of results. Radii of
// published logs are cut at the largest one that the study's own samples can prove.
func (s *Study) Log(title, file string, sigma float64) {
	s.rows = append(s.rows, map[string]any{"results": absolute(file), "title": title, "sigma": sigma, "data": ownData})
}

// Radii says on which sets radii are certified: clean, families as C, or corruptions as fog.
func (s *Study) Radii(sets ...string) { s.sets = append(s.sets, sets...) }

// Claim adds claims to a family, which is judged together.
func (s *Study) Claim(family string, claims ...Claim) {
	for _, c := range claims {
		if c.Row == "" || c.What == "" || len(c.On) == 0 {
			s.err = fmt.Errorf("study: a claim of %s has row %q, quantity %q and sets %q; expected all three", family, c.Row,
				c.What, c.On)
		}
	}
	s.families[family] = append(s.families[family], claims...)
}

const ownData = "own"

// absolute is a path from wherever the study's file lies.
func absolute(file string) string {
	if full, err := filepath.Abs(file); err == nil {
		return full
	}
	return file
}

// order writes the study beside its folder.
func (s *Study) order() (o runner.Order, err error) {
	switch {
	case runner.Run == nil:
		return o, errors.New(`study: nothing runs studies here; import _ "github.com/certspec/certspec/experiment"`)
	case s.err != nil:
		return o, s.err
	case s.folder == "" || len(s.rows) == 0:
		return o, fmt.Errorf("study: folder %q with %d rows; expected a folder, and a network, recipe or log", s.folder,
			len(s.rows))
	}
	base, images, prepared := split(s.data)
	train := tier.Select(strings.TrimSuffix(base, "/test")+"/train", prepared)
	base = tier.Select(base, prepared)
	radii, only := tier.Radius{Clean: true}, []string(nil)
	for _, set := range s.sets {
		if set == "clean" {
			continue
		}
		family := set
		if _, err := tier.FamilyNames(set); err != nil {
			if family = familyOf(set); family == "" {
				return o, fmt.Errorf("study: there is no set %q; expected clean, C, C-bar or a corruption of them as fog", set)
			}
			only = append(only, set)
		}
		if !slices.Contains(radii.Sweeps, family) {
			radii.Sweeps = append(radii.Sweeps, family)
		}
	}
	made := tier.Tier{Title: "a study of one's own", Epochs: s.Epochs, Clean: images,
		Certify: tier.CertifySettings{Rule: string(rs.Staged), N: s.samples()}}
	made.Data = map[string]tier.DataPart{ownData: {Train: s.Learn, Test: images}}
	made.Corrupted = tier.CorruptedImages{Images: images, Severities: s.Severities, Corruptions: only}
	if made.Fourier.Images = images; s.Severities == nil {
		made.Corrupted.Severities = []int{1, 3, 5}
	}
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	err = e.Encode(map[string]any{
		"data":    map[string]any{ownData: map[string]any{"title": base, "train": train, "test": base}},
		"recipes": s.recipes, "tiers": map[string]any{ownData: made},
		"tables": map[string]any{ownData: map[string]any{"title": "Own study", "rows": s.rows, "measure": radii,
			"families": s.families}},
	})
	if err != nil {
		return o, fmt.Errorf("study: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.folder), 0o777); err != nil {
		return o, fmt.Errorf("study: %w", err)
	}
	file := s.folder + ".yaml"
	o = runner.Order{Folder: s.folder, Table: ownData, Tier: ownData, Files: append(slices.Clone(s.files), file),
		Engine: s.Engine, Progress: s.Progress}
	return o, atomicfile.Write(file, text.Bytes())
}

// split takes from the name of a data set what chooses images, and what prepares them.
func split(name string) (base, chosen, prepared string) {
	base, list := tier.CutSelection(name)
	var choice, rest []string
	for part := range strings.SplitSeq(list, ",") {
		switch key, _, _ := strings.Cut(part, "="); key {
		case "count", "skip", "random":
			choice = append(choice, part)
		case "":
		default:
			rest = append(rest, part)
		}
	}
	return base, strings.Join(choice, ","), strings.Join(rest, ",")
}

func (s *Study) samples() int {
	if s.Samples > 0 {
		return s.Samples
	}
	return 1000
}

// familyOf is the family of a corruption; "" where it has none.
func familyOf(corruption string) string {
	for _, family := range []string{"C", "C-bar"} {
		if names, err := tier.FamilyNames(family); err == nil && slices.Contains(names, corruption) {
			return family
		}
	}
	return ""
}

// Plan says how much is left and how long it takes, and of each claim the smallest difference between its networks that
// the images show in 80 of 100 runs: by the deviations in the pilot, else at most. Over starts it is larger.
func (s *Study) Plan(ctx context.Context) (*table.Table, error) {
	o, err := s.order()
	if err != nil {
		return nil, err
	}
	left, images, err := runner.Plan(ctx, o)
	if err != nil {
		return nil, err
	}
	t := table.New("claim", "images", "smallest difference that shows", "by")
	t.Title = "What the study can show"
	t.Notes = []string{left, "Between the networks at hand; over starts the difference is larger."}
	pilot := s.Pilot
	if pilot == "" {
		pilot = s.folder
	}
	f, err := Open(pilot, ownData)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(s.families)) {
		for _, c := range s.families[name] {
			for _, set := range c.On {
				deviation, by := 1., "the largest possible deviation"
				if found := f.deviation(ctx, c, set); found > 0 {
					deviation, by = found, "the pilot"
				}
				t.Add(Judged{Claim: c, Set: set}.Say(), images,
					table.Rounded{Value: seen80 * deviation / math.Sqrt(float64(images)), Decimals: 3}, by)
			}
		}
	}
	return t, nil
}

// seen80 standard errors are a difference whose interval of 95 % excludes 0 in 80 of 100 runs.
const seen80 = resample.Normal95 + 0.841621

// deviation of a claim's difference from image to image; 0: not there.
func (f *Folder) deviation(ctx context.Context, c Claim, set string) float64 {
	if f == nil {
		return 0
	}
	a, b := c.cells(set)
	d, err := f.Compare(ctx, a, b, 0, resample.Options{Resamples: 200})
	if err != nil || d == nil || d.Networks == nil {
		return 0
	}
	in := d.Networks.Interval
	x, err := f.means(a)
	if err != nil {
		return 0
	}
	return (in.High - in.Low) / (2 * resample.Normal95) * math.Sqrt(float64(len(x[0].images)))
}

// Run fixes the claims and does what is left. It stops at the first interrupt of ctx and keeps what is done; the same
// call goes on.
//
// Errors: an unknown recipe or set; a file that cannot be read; a folder that is for something else.
func (s *Study) Run(ctx context.Context) error {
	o, err := s.order()
	if err != nil {
		return err
	}
	if err := s.fix(); err != nil {
		return err
	}
	return runner.Run(ctx, o)
}

// fixed is a line of FOLDER.claims.jsonl: what a family claimed when so many results were there.
type fixed struct {
	Family  string `json:"family"`
	Digest  string `json:"digest"`
	Results int    `json:"results"`
}

// fixedClaims are the last lines of each family.
func (s *Study) fixedClaims() (all map[string]fixed, text []byte, err error) {
	text, err = os.ReadFile(s.folder + ".claims.jsonl")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("study: %w", err)
	}
	all = map[string]fixed{}
	for line := range bytes.Lines(text) {
		var one fixed
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, nil, fmt.Errorf("study: %s.claims.jsonl: %q: %w", s.folder, line, err)
		}
		all[one.Family] = one
	}
	return all, text, nil
}

// fix writes down which claims are new or others.
func (s *Study) fix() error {
	before, text, err := s.fixedClaims()
	if err != nil {
		return err
	}
	results, err := filepath.Glob(filepath.Join(s.folder, "results", "*.csv"))
	if err != nil {
		return fmt.Errorf("study: %w", err)
	}
	results = slices.DeleteFunc(results, func(file string) bool {
		form, _ := FormOf(file)
		return form.Suffix != ".csv" // what is behind them
	})
	was := len(text)
	for _, name := range slices.Sorted(maps.Keys(s.families)) {
		one := fixed{name, s.families[name].Digest(), len(results)}
		if before[name].Digest == one.Digest {
			continue
		}
		line, err := json.Marshal(one)
		if err != nil {
			return fmt.Errorf("study: %w", err)
		}
		text = append(append(text, line...), '\n')
	}
	if len(text) == was {
		return nil
	}
	return atomicfile.Write(s.folder+".claims.jsonl", text)
}

// Tables are a table of verdicts for each family of claims, and what the folder holds of all rows.
func (s *Study) Tables(ctx context.Context) ([]*table.Table, error) {
	o, err := s.order()
	if err != nil {
		return nil, err
	}
	fixed, _, err := s.fixedClaims()
	if err != nil {
		return nil, err
	}
	f, err := Open(s.folder, ownData)
	if err != nil {
		return nil, err
	}
	var all []*table.Table
	for _, name := range slices.Sorted(maps.Keys(s.families)) {
		judged, err := Judge(ctx, s.families[name], f, nil, resample.Options{})
		if err != nil {
			return nil, err
		}
		t := Verdicts(judged)
		t.Title = "Claims: " + name
		when := "fixed before the first result"
		switch at, ok := fixed[name]; {
		case !ok || at.Digest != s.families[name].Digest():
			when = "not fixed: they changed after the last run"
		case at.Results > 0:
			when = fmt.Sprintf("fixed after %d results", at.Results)
		}
		t.Notes = append(t.Notes, fmt.Sprintf("%d claims, judged together, %s.", len(judged), when))
		all = append(all, t)
	}
	more, err := runner.Tables(ctx, o)
	return append(all, more...), err
}
