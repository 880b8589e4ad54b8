// Package store reads and writes the folder of an experiment.
//
//	manifest.json             what the folder is for: tier, data, tables, models
//	rates.json                what this machine was measured to do
//	models/MODEL.safetensors  weights, with the card .json and the log .csv; see package modelfile
//	adapted/MODEL/CELL.*      the same of networks adapted to one corruption
//	ledgers/MODEL/CELL.ledger clean, fog-3, …; see package sweep
//	calibration/MODEL.ledger  of the images whose confidences are certified
//	ood/MODEL/*               bounds and attacks around foreign images; see package ood/record
//	predictions/CORRUPTION/SEVERITY/MODEL.npy  classes, without noise
//	results/seals.json        a digest of each file of results, and of the lists of certified images
//	results/MODEL.csv         the certified radii of the ledgers, image by image, small enough to keep
//	results/MODEL.shares.csv  the shares of noise samples in the certified class behind them
//	results/DATA-SET-EPSILON.areas.json  areas of all networks with their covariance; see Areas
//	results/MODEL.*           what else was measured, and the confidences behind it, image by image
package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/gomlxmodels/former"
	"github.com/certspec/certspec/internal/gomlxmodels/prune"
	"github.com/certspec/certspec/internal/picture"
	"github.com/certspec/certspec/internal/study/measure"
)

// Manifest says what a folder is for. Models and tables may be added to it; what is there never
// changes, but for the words of a table and the row that its others are compared with.
type Manifest struct {
	Format int               `json:"format"`
	Tier   recipe.Tier       `json:"tier"`
	Places map[string]string `json:"places,omitempty"`
	Tables []Table           `json:"tables"`
	Models []recipe.Model    `json:"models"`

	lists map[string]*imageList // by the names of data sets with their selections
}

// Table is a table with its lines.
type Table struct {
	recipe.Table
	Lines []recipe.Line `json:"lines"`
}

// reference is the line that the others are compared with; nil where there is none of that title.
func (t *Table) reference() *recipe.Line {
	for i := range t.Lines {
		if l := &t.Lines[i]; len(l.Models) > 0 && (t.Compare == "" || l.Title == t.Compare) {
			return l
		}
	}
	return nil
}

// Folders of the second format have the digests of their results beside them; see seals.
const (
	unsealedFormat = 1
	ManifestFormat = 2
)

// MismatchError says how a folder differs from what is to be made in it.
type MismatchError struct {
	Folder, What string
	There, Here  string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("experiment: folder %s is for something else: %s is %s there and %s here; choose another folder",
		e.Folder, e.What, e.There, e.Here)
}

// ReadManifest reads what a folder is for, and compares its results with the digests that were kept with them.
//
// Errors: a folder without a manifest, as fs.ErrNotExist; a result that was changed, added or
// removed, by file and line.
func ReadManifest(folder string) (*Manifest, error) {
	m, err := parseManifest(folder)
	if err != nil {
		return nil, err
	}
	return m, m.checkSeals(folder)
}

func parseManifest(folder string) (*Manifest, error) {
	path := filepath.Join(folder, manifestFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("experiment: %s is no folder of an experiment, which certspec experiment run makes: %w",
			folder, err)
	}
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	m := &Manifest{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(m); err != nil {
		return nil, fmt.Errorf("experiment: %s is no manifest of an experiment: %w", path, err)
	}
	if m.Format < unsealedFormat || m.Format > ManifestFormat {
		return nil, fmt.Errorf("experiment: %s has the format %d; this program reads %d and %d",
			path, m.Format, unsealedFormat, ManifestFormat)
	}
	m.current()
	return m, nil
}

// current gives methods the names that they have today; see former.Method. What was trained as ACCE-ACT from the exact
// solution, in whose tables it stood as such, is another algorithm than the paper's.
func (m *Manifest) current() {
	for i := range m.Models {
		model := &m.Models[i]
		name, options := former.Method(model.Method, model.Options)
		if name == model.Method {
			model.Options = options
			continue
		}
		const was, is = "ACCE-ACT", "Exact start"
		model.Method, model.Options = name, options
		model.Title, model.Group = strings.Replace(model.Title, was, is, 1), strings.Replace(model.Group, was, is, 1)
		for t := range m.Tables {
			for k := range m.Tables[t].Lines {
				if l := &m.Tables[t].Lines[k]; slices.Contains(l.Models, model.Name) {
					l.Title, l.Group = strings.Replace(l.Title, was, is, 1), strings.Replace(l.Group, was, is, 1)
				}
			}
		}
	}
}

// Join adds what is new in another manifest of the same experiment.
func (m *Manifest) Join(folder string, other *Manifest) error {
	mismatch := func(what string, there, here any) error {
		x, y := apart(plain(there), plain(here))
		return &MismatchError{folder, what, CompactJSON(x), CompactJSON(y)}
	}
	tier, wanted := withMethods(m.Tier, other.Tier), withMethods(other.Tier, m.Tier)
	tier = withParts(tier, other.Tier, m.Models)
	switch {
	case m.Tier.Name != other.Tier.Name:
		return mismatch("the tier", m.Tier.Name, other.Tier.Name)
	case CompactJSON(tier) != CompactJSON(wanted):
		return mismatch("the tier "+m.Tier.Name, tier, wanted)
	case CompactJSON(m.placed()) != CompactJSON(other.placed()):
		return mismatch("the place of data", m.placed(), other.placed())
	}
	m.Tier, m.Places = tier, other.Places
	for _, model := range other.Models {
		i := slices.IndexFunc(m.Models, func(o recipe.Model) bool { return o.Slug() == model.Slug() })
		if i < 0 {
			m.Models = append(m.Models, model)
			continue
		}
		if CompactJSON(m.Models[i]) != CompactJSON(asIn(model, m.Models[i])) {
			return mismatch("the model "+model.Name, m.Models[i], asIn(model, m.Models[i]))
		}
		m.Models[i].Begin = model.Begin
	}
	for _, table := range other.Tables {
		i := slices.IndexFunc(m.Tables, func(o Table) bool { return o.Name == table.Name })
		if i < 0 {
			m.Tables = append(m.Tables, table)
			continue
		}
		t := &m.Tables[i]
		if CompactJSON(t.Measure) != CompactJSON(table.Measure) {
			return mismatch("what table "+table.Name+" measures", t.Measure, table.Measure)
		}
		t.Table = table.Table
		for _, line := range table.Lines {
			if !slices.ContainsFunc(t.Lines, func(o recipe.Line) bool { return CompactJSON(o) == CompactJSON(line) }) {
				t.Lines = append(t.Lines, line)
			}
		}
	}
	return nil
}

// placed are the places of data, with its weights in the place of the path of a network that
// trainings begin with: that may have moved since.
func (m *Manifest) placed() map[string]string {
	places := maps.Clone(m.Places)
	for _, model := range m.Models {
		if kind := model.Data + recipe.StartSuffix; model.Begin != nil && places[kind] != "" {
			places[kind] = model.Begin.Weights
		}
	}
	return places
}

// apart leaves of two objects what sets them apart.
func apart(there, here any) (any, any) {
	a, ok := there.(map[string]any)
	b, both := here.(map[string]any)
	if !ok || !both {
		return there, here
	}
	a, b = maps.Clone(a), maps.Clone(b)
	for key, v := range a {
		w, both := b[key]
		switch {
		case reflect.DeepEqual(v, w):
			delete(a, key)
			delete(b, key)
		case both:
			a[key], b[key] = apart(v, w)
		}
	}
	return a, b
}

// withMethods is the tier with the limits of methods that only another has: those act through the
// options of models, which are compared themselves, so that a folder goes on where methods came in
// after it was begun.
func withMethods(t recipe.Tier, other recipe.Tier) recipe.Tier {
	methods := maps.Clone(other.Methods)
	if methods == nil {
		methods = map[string]map[string]int{}
	}
	maps.Copy(methods, t.Methods)
	t.Methods = methods
	return t
}

// withParts is the tier with what another takes of the kinds of data that no model is of, as that
// acts through models alone.
func withParts(t recipe.Tier, other recipe.Tier, models []recipe.Model) recipe.Tier {
	data := map[string]recipe.DataPart{}
	maps.Copy(data, other.Data)
	for _, m := range models {
		if part, ok := t.Data[m.Data]; ok {
			data[m.Data] = part
		} else {
			delete(data, m.Data)
		}
	}
	t.Data = data
	return t
}

// asIn is a model as a folder that was begun before has it, where only what was written later sets
// the two apart, or where the network lies that it begins with: such a folder goes on as it was
// begun.
func asIn(m recipe.Model, there recipe.Model) recipe.Model {
	if m.Begin != nil && there.Begin != nil && m.Begin.Weights == there.Begin.Weights {
		m.Begin = there.Begin
	}
	if m.Adapt != nil && there.Adapt != nil && there.Adapt.Sample == "" {
		settings := *m.Adapt
		settings.Sample, m.Adapt = "", &settings
	}
	return m
}

// Write writes the manifest into a folder, which is made where it is missing.
func (m *Manifest) Write(folder string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	return atomicfile.Write(filepath.Join(folder, manifestFile), append(text, '\n'))
}

// Joined is the manifest of a folder with what is to be made in it. A folder that holds anything else is refused.
func Joined(folder string, here *Manifest) (*Manifest, error) {
	there, err := parseManifest(folder)
	if errors.Is(err, fs.ErrNotExist) {
		atomicfile.Sweep(folder)
		files, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("experiment: %w", err)
		}
		for _, f := range files {
			if f.Name() != lockFile && f.Name() != RatesFile { // of a run that was stopped at once
				return nil, fmt.Errorf("experiment: folder %s holds %s but no %s: it is not that of an experiment; "+
					"choose another, or an empty one", folder, f.Name(), manifestFile)
			}
		}
		here.Format = ManifestFormat
		return here, nil
	}
	if err != nil {
		return nil, err
	}
	var lost *lostError
	if err := there.checkSeals(folder); err != nil && !errors.As(err, &lost) { // a run makes that again
		return nil, err
	}
	if here, err = here.asBegun(there); err != nil {
		return nil, err
	}
	return there, there.Join(folder, here)
}

// asBegun is a manifest with the names of pictures as a folder has them that was begun before names
// said how JPEG pictures are decoded: such a folder goes on with the decoder of then.
func (m *Manifest) asBegun(there *Manifest) (*Manifest, error) {
	text := CompactJSON(there)
	if strings.Contains(text, "[jpeg=") || !strings.Contains(text, `"cifar10-jpeg/`) && !strings.Contains(text,
		`"folder:`) {
		return m, nil
	}
	part := "[jpeg=" + picture.LibJPEG
	text = strings.NewReplacer(part+",", "[", part+"]", "").Replace(CompactJSON(m))
	begun := &Manifest{}
	return begun, json.Unmarshal([]byte(text), begun)
}

// Model finds a model by its name; nil: there is none.
func (m *Manifest) Model(name string) *recipe.Model {
	i := slices.IndexFunc(m.Models, func(o recipe.Model) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return &m.Models[i]
}

// Table finds a table by its name; the only one for an empty name.
func (m *Manifest) Table(name string) (*Table, error) {
	var names []string
	name = recipe.StoredName(name)
	for i := range m.Tables {
		if m.Tables[i].Name == name || name == "" && len(m.Tables) == 1 {
			return &m.Tables[i], nil
		}
		names = append(names, recipe.Spelled(m.Tables[i].Name))
	}
	if name == "" {
		return nil, fmt.Errorf("experiment: the folder has %d tables; name one of %s", len(names),
			strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("experiment: the folder has no table %q; it has %s", name, strings.Join(names, ", "))
}

// plain is a value as JSON has it.
func plain(v any) (is any) {
	if err := json.Unmarshal([]byte(CompactJSON(v)), &is); err != nil {
		panic("experiment: " + err.Error()) // its own text
	}
	return is
}

// CompactJSON is a plain value as one line of JSON.
func CompactJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("experiment: " + err.Error()) // plain values
	}
	return string(text)
}

// Root is the network that a model goes back to, over what it began with: by the digest of a file of weights; itself
// where that was random.
func (m *Manifest) Root(model *recipe.Model) string {
	for range m.Models { // starts that go in a circle end here
		start := m.Model(model.Start)
		if start == nil {
			break
		}
		model = start
	}
	if model.Begin != nil {
		return model.Begin.Weights
	}
	return model.Name
}

// Failure is a model that cannot be made, and why: training goes the same way each time. It stands
// in results/MODEL.failed.json; without that file it is tried again.
type Failure struct {
	Model  string `json:"model"`
	Reason string `json:"reason"`
}

func (f Failure) Error() string { return f.Model + " cannot be made: " + f.Reason }

// KeepFailure writes down an error to which training leads again.
func KeepFailure(folder string, m *recipe.Model, err error) error {
	var empty *prune.EmptyLayer
	if !errors.As(err, &empty) {
		return nil
	}
	return KeepJSON(ResultPath(folder, m, FailedSuffix), Failure{m.Name, empty.Error()})
}

// Failures are the models of a folder that cannot be made, in the order of its manifest.
func (m *Manifest) Failures(folder string) ([]Failure, error) {
	var all []Failure
	for i := range m.Models {
		path := ResultPath(folder, &m.Models[i], FailedSuffix)
		var f Failure
		switch ok, err := measure.ReadJSON(path, &f); {
		case err != nil:
			return nil, err
		case ok && f.Model != m.Models[i].Name:
			return nil, fmt.Errorf("experiment: %s is of %q; expected %q", path, f.Model, m.Models[i].Name)
		case ok:
			all = append(all, f)
		}
	}
	return all, nil
}

// FailedModels are the models that cannot be made, by name.
func (m *Manifest) FailedModels(folder string) (map[string]error, error) {
	failures, err := m.Failures(folder)
	all := map[string]error{}
	for _, f := range failures {
		all[f.Model] = f
	}
	return all, err
}

// Lock takes a folder for this process; the function gives it back.
func Lock(folder string) (release func(), err error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	l := flock.New(filepath.Join(folder, lockFile))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("experiment: another process works in folder %s", folder)
	}
	return func() { l.Unlock() }, nil
}
