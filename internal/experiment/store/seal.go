package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/study"
)

// seals are the digests of the results of a folder, by the names of their files, and those of the lists of images that
// were certified, by the names of the data sets with their selections.
type seals struct {
	Files  map[string]seal   `json:"files"`
	Images map[string]string `json:"images,omitempty"`
}

type seal struct {
	Digest string `json:"digest,omitempty"` // sha256:…
	Lines  string `json:"lines,omitempty"`  // twelve bits of each line's checksum in base64, to say which line changed
	// Next is the digest of what is being written: a process that was killed leaves either text.
	Next string `json:"next,omitempty"`
}

func sealOf(text []byte) seal { return seal{Digest: digestOf(text), Lines: lineMarks(text)} }

func digestOf(text []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(text)) }

func lineMarks(text []byte) string {
	var marks []byte
	for line := range bytes.Lines(text) {
		sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(line))
		marks = append(marks, base64.RawURLEncoding.EncodeToString(sum[:2])[:2]...)
	}
	return string(marks)
}

// changedLine is the first line, from 1, that is not as it was kept.
func (s seal) changedLine(text []byte) int {
	marks := lineMarks(text)
	n := 0
	for n < min(len(marks), len(s.Lines)) && marks[n] == s.Lines[n] {
		n++
	}
	return n/2 + 1
}

// readSeals reads those of a folder of results; nil: there are none.
func readSeals(results string) (*seals, error) {
	path := filepath.Join(results, SealsFile)
	text, err := measure.ReadText(path)
	if text == nil || err != nil {
		return nil, err
	}
	s := &seals{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(s); err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	return s, nil
}

// changeSeals changes those of a folder of results, which the process has locked.
func changeSeals(results string, change func(*seals)) error {
	s, err := readSeals(results)
	if err != nil {
		return err
	}
	if s == nil {
		s = &seals{}
	}
	if s.Files == nil {
		s.Files = map[string]seal{}
	}
	if s.Images == nil {
		s.Images = map[string]string{}
	}
	before := CompactJSON(s)
	if change(s); CompactJSON(s) == before {
		return nil
	}
	return WriteJSON(filepath.Join(results, SealsFile), s)
}

// Keep writes a result with its seal, whole or not at all.
func Keep(path string, text []byte) error {
	results, name := filepath.Split(path)
	if name == SealsFile {
		return fmt.Errorf("experiment: %s is no name for a result: the digests of all stand there", path)
	}
	digest := digestOf(text)
	err := changeSeals(results, func(s *seals) {
		one := s.Files[name]
		one.Next = digest
		s.Files[name] = one
	})
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, text); err != nil {
		return err
	}
	return changeSeals(results, func(s *seals) { s.Files[name] = sealOf(text) })
}

// isResult tells results from what lies beside them while they are made.
func isResult(name string) bool {
	return name != SealsFile && !strings.HasPrefix(name, ".") &&
		!strings.HasSuffix(name, ".parts") && !strings.HasSuffix(name, lockFile)
}

// resultTexts are the texts in the folder of results, by the names of their files.
func resultTexts(results string) (map[string][]byte, error) {
	entries, err := os.ReadDir(results)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	texts := map[string][]byte{}
	for _, e := range entries {
		if e.IsDir() || !isResult(e.Name()) {
			continue
		}
		if texts[e.Name()], err = os.ReadFile(filepath.Join(results, e.Name())); err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
	}
	return texts, nil
}

// checkSeals compares the results of a folder with their seals. A folder that was begun before there were any has none.
func (m *Manifest) checkSeals(folder string) (err error) {
	for range 3 { // another process may keep one meanwhile
		if err = m.checkSealsOnce(folder); err == nil {
			return nil
		}
	}
	return err
}

func (m *Manifest) checkSealsOnce(folder string) error {
	results := filepath.Join(folder, "results")
	s, err := readSeals(results)
	if err != nil {
		return err
	}
	texts, err := resultTexts(results)
	if err != nil {
		return err
	}
	if s == nil {
		if m.Format > unsealedFormat && len(texts) > 0 {
			return fmt.Errorf("experiment: %s: there are results but no %s, which has their digests; restore it",
				results, SealsFile)
		}
		return nil
	}
	for name, digest := range s.Images {
		m.learn(name, &imageList{digest: digest, from: filepath.Join(results, SealsFile)})
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := texts[name]
		path := filepath.Join(results, name)
		kept, ok := s.Files[name]
		switch digest := digestOf(text); {
		case !ok:
			return fmt.Errorf("experiment: %s, line 1: no run kept this file (%s does not have it); remove it", path,
				SealsFile)
		case digest != kept.Digest && digest != kept.Next:
			const changed = "changed since the result was kept; restore the file, or remove it and run the table again"
			return fmt.Errorf("experiment: %s, line %d: %s", path, kept.changedLine(text), changed)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if _, ok := texts[name]; !ok && s.Files[name].Digest != "" {
			return &lostError{filepath.Join(results, name)}
		}
	}
	return nil
}

// lostError is a result that was kept and is not there. A run makes it again.
type lostError struct{ path string }

func (e *lostError) Error() string {
	return fmt.Sprintf("experiment: %s was kept and is not there; restore it, or run the table again", e.path)
}

// SealAll brings the seals of a folder, which the process has locked, up to what lies there:
// results of before there were seals get theirs, what is not there loses its own, and what a killed
// process left half done is settled.
func (m *Manifest) SealAll(folder string) error {
	results := filepath.Join(folder, "results")
	texts, err := resultTexts(results)
	if err != nil || len(texts) == 0 {
		return err
	}
	before, err := readSeals(results)
	if err != nil {
		return err
	}
	for i := range m.Models {
		_, err1 := m.Radii(folder, &m.Models[i])
		_, err2 := m.shares(folder, &m.Models[i])
		if err := cmp.Or(err1, err2); before == nil && err != nil {
			return err
		}
	}
	return changeSeals(results, func(s *seals) {
		for name := range s.Files {
			if _, ok := texts[name]; !ok {
				delete(s.Files, name)
			}
		}
		for name, text := range texts {
			if kept := s.Files[name]; before == nil || kept.Next != "" {
				s.Files[name] = sealOf(text)
			}
		}
	})
}

// imageList are the images that a selection of a data set gives, by id, with their labels.
type imageList struct {
	digest string
	from   string      // what it is known from
	labels map[int]int // by id; nil: only the digest is known
}

func listOf(ids, labels []int, from string) *imageList {
	l := &imageList{from: from, labels: map[int]int{}}
	for i, id := range ids {
		if labels[i] >= 0 {
			l.labels[id] = labels[i]
		}
	}
	var text []byte
	for _, id := range slices.Sorted(maps.Keys(l.labels)) {
		text = strconv.AppendInt(append(strconv.AppendInt(text, int64(id), 10), ' '), int64(l.labels[id]), 10)
		text = append(text, '\n')
	}
	l.digest = digestOf(text)
	return l
}

// apart says in which image, by id, two lists differ first.
func (l *imageList) apart(o *imageList) (image int, how string) {
	if l.labels == nil || o.labels == nil {
		return -1, "other images or labels"
	}
	both := maps.Clone(l.labels)
	maps.Copy(both, o.labels)
	for _, id := range slices.Sorted(maps.Keys(both)) {
		mine, here := l.labels[id]
		theirs, there := o.labels[id]
		switch {
		case !here:
			return id, fmt.Sprintf("image %d is missing", id)
		case !there:
			return id, fmt.Sprintf("image %d is not one of them", id)
		case mine != theirs:
			return id, fmt.Sprintf("image %d has the label %d, not %d", id, mine, theirs)
		}
	}
	return -1, ""
}

func (m *Manifest) cells() (map[string]sweep.Cell, error) {
	all := map[string]sweep.Cell{}
	for _, t := range m.Tables {
		cells, err := m.Tier.Cells(t.Measure.Radii)
		if err != nil {
			return nil, err
		}
		for _, c := range cells {
			all[c.String()] = c
		}
	}
	return all, nil
}

// checkRadii refuses radii above the largest possible one, and images that are not those of the selection.
func (m *Manifest) checkRadii(path string, model *recipe.Model, columns []*study.Column, most float64) error {
	cells, err := m.cells()
	if err != nil {
		return err
	}
	for _, c := range columns {
		for i, v := range c.Values {
			if v > most {
				const why = "by the tier's rule, α and number of noise samples"
				return fmt.Errorf("experiment: %s, line %d: image %d has %v in %s; expected at most %.6g, %s",
					path, lineOf(path, c.Images[i]), c.Images[i], v, c.Set, most, why)
			}
		}
		if err := m.checkCell(cells, path, model, c); err != nil {
			var other *listError
			if errors.As(err, &other) {
				other.line = lineOf(path, other.image)
			}
			return err
		}
	}
	return nil
}

// checkCell compares the images of a cell with those that the recipe's data and the tier name.
func (m *Manifest) checkCell(cells map[string]sweep.Cell, path string, model *recipe.Model, c *study.Column) error {
	cell, ok := cells[c.Set]
	if !ok {
		return nil
	}
	images, _ := m.ImagesOf(model, cell)
	mine := listOf(c.Images, c.Labels, path)
	known := m.lists[images]
	switch {
	case known == nil, known.labels == nil && known.digest == mine.digest:
		m.learn(images, mine)
	case known.digest != mine.digest:
		e := &listError{path: path, cell: c.Set, images: images, from: known.from}
		e.image, e.how = mine.apart(known)
		return e
	}
	return nil
}

func (m *Manifest) learn(name string, l *imageList) {
	if m.lists == nil {
		m.lists = map[string]*imageList{}
	}
	m.lists[name] = l
}

// LearnFrom takes the lists of images that another folder has.
func (m *Manifest) LearnFrom(other *Manifest) error {
	for name, l := range other.lists {
		if known := m.lists[name]; known != nil && known.digest != l.digest {
			return fmt.Errorf("experiment: %s and %s have other images or labels of %s", known.from, l.from, name)
		}
		m.learn(name, l)
	}
	return nil
}

// listError says where results have other images, or labels, than their selection.
type listError struct {
	path, cell, images, from, how string
	image, line                   int // line 0: of no text
}

func (e *listError) Error() string {
	at := e.path
	if e.line > 0 {
		at += fmt.Sprintf(", line %d", e.line)
	}
	return fmt.Sprintf("experiment: %s: the images of %s are not those of %s, known from %s: %s",
		at, e.cell, e.images, e.from, e.how)
}

// lineOf is the line of an image in a file of radii, or where it would be.
func lineOf(path string, image int) int {
	text, _ := measure.ReadText(path)
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var id int
		if _, err := fmt.Sscanf(string(line), "%d,", &id); err == nil && id >= image {
			break
		}
	}
	return n
}

// mostRadius is the largest radius that the tier's rule certifies for a model.
func (m *Manifest) mostRadius(model *recipe.Model) (float64, error) {
	if model.Noise() == 0 || model.Results != "" {
		return math.Inf(1), nil // nothing says how they were certified
	}
	plan, err := m.Tier.Certify.Options(model.Noise()).Plan()
	if err != nil {
		return 0, fmt.Errorf("experiment: %s: %w", model.Name, err)
	}
	return plan.RadiusCap() * (1 + 1e-9), nil // programs of before may have rounded otherwise
}

// LearnLists takes the lists of images that are not known yet from the data at hand, for what was certified.
func (m *Manifest) LearnLists(ctx context.Context, folder string, open func(string) (*dataset.Dataset, error)) error {
	cells, err := m.cells()
	if err != nil {
		return err
	}
	for i := range m.Models {
		model := &m.Models[i]
		if model.Results != "" {
			continue
		}
		kept, err := measure.ReadColumns(ResultPath(folder, model, ".csv"), model.Name)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(cells)) {
			images, _ := m.ImagesOf(model, cells[name])
			if m.lists[images] != nil {
				continue
			}
			there := slices.ContainsFunc(kept, func(c *study.Column) bool { return c.Set == name })
			if _, err := os.Stat(LedgerPath(folder, model, cells[name])); err != nil && !there {
				continue
			}
			d, err := open(images)
			if err != nil {
				continue // not on this machine
			}
			found, err := d.List(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil {
				m.learn(images, listOf(found.IDs, found.Labels, "the data"))
			}
		}
	}
	return nil
}

// KeepLists brings the lists of images into the seals.
func (m *Manifest) KeepLists(folder string) error {
	if len(m.lists) == 0 {
		return nil
	}
	return changeSeals(filepath.Join(folder, "results"), func(s *seals) {
		for name, l := range m.lists {
			s.Images[name] = l.digest
		}
	})
}
