package store

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/lines"
)

// Calibration is what is certified of a model's confidences.
type Calibration struct {
	Ledger string         `json:"ledger"` // digest of the ledger that it is derived from
	Images int            `json:"images"` // labelled
	ADMM   int            `json:"admm_steps"`
	At     []RadiusErrors `json:"at"`
}

// RadiusErrors is what holds within one radius. The errors are nil where no image is certified that far.
type RadiusErrors struct {
	Radius    float64  `json:"radius"`
	Certified int      `json:"certified"` // images, right or wrong
	Accuracy  float64  `json:"certified_accuracy"`
	CCE       *float64 `json:"cce"`  // largest calibration error, exactly, 15 bins
	ACCE      *float64 `json:"acce"` // what ADMM finds of it
	CBS       *float64 `json:"cbs"`  // largest Brier score
	// How far the accuracies of the bins are apart; results that are older lack it.
	Resolution *float64 `json:"resolution,omitempty"`
	Right      *float64 `json:"right,omitempty"` // share of the certified images
	// Means of the bounds on their confidence; nil without the intervals behind.
	Lower *float64 `json:"lower,omitempty"`
	Upper *float64 `json:"upper,omitempty"`

	Constant float64 `json:"-"` // Brier score of a confidence that is the accuracy of the certified images
}

// Has reports whether there are errors at all radii.
func (c *Calibration) Has(radii []float64) bool {
	for _, r := range radii {
		if c.AtRadius(r) == nil {
			return false
		}
	}
	return true
}

// AtRadius are the errors at a radius; nil: not there.
func (c *Calibration) AtRadius(radius float64) *RadiusErrors {
	i := slices.IndexFunc(c.At, func(a RadiusErrors) bool { return a.Radius == radius })
	if i < 0 {
		return nil
	}
	return &c.At[i]
}

// ConfidenceAttacks is the calibration of a network under attacks on its confidence (Emde et al. 2025, table 1).
type ConfidenceAttacks struct {
	Epsilon  float64            `json:"epsilon"` // L∞ budget, 1 = full range
	Images   int                `json:"images"`
	Accuracy float64            `json:"accuracy"` // the same under all attacks
	Bins     int                `json:"bins"`
	AdaECE   float64            `json:"adaece"` // without an attack
	Attacks  []ConfidenceAttack `json:"attacks"`
}

// ConfidenceAttack is one attack.
type ConfidenceAttack struct {
	Attack string  `json:"attack"` // (η,ω)
	AdaECE float64 `json:"adaece"`
	Mean   float64 `json:"mean_confidence"`
}

// Evaluated is a set with its right answers.
type Evaluated struct {
	Set    string `json:"set"` // clean, or a corruption with its severities together
	Right  int    `json:"right"`
	Images int    `json:"images"`
}

// Share is the accuracy.
func (e Evaluated) Share() float64 { return float64(e.Right) / float64(e.Images) }

// Predictions are the classes that a model answers to images, or classifier.Miss.
type Predictions struct{ Images, Labels, Classes []int }

// Encode is the text of their file.
func (p *Predictions) Encode() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{"image", "label", "class"})
	for i, image := range p.Images {
		w.Write([]string{strconv.Itoa(image), strconv.Itoa(p.Labels[i]), strconv.Itoa(p.Classes[i])})
	}
	w.Flush()
	return b.Bytes()
}

// ReadPredictions returns nil for a file that is not there.
func ReadPredictions(path string) (*Predictions, error) {
	text, err := readText(path)
	if text == nil || err != nil {
		return nil, err
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err == nil && (len(records) == 0 || !slices.Equal(records[0], []string{"image", "label", "class"})) {
		err = errors.New("its first line is not image,label,class")
	}
	p := &Predictions{}
	for n := 1; err == nil && n < len(records); n++ {
		var of [3]int
		for k, text := range records[n] {
			if of[k], err = strconv.Atoi(text); err != nil {
				err = fmt.Errorf("line %d: %q; expected a whole number", n+1, text)
				break
			}
		}
		p.Images, p.Labels, p.Classes = append(p.Images, of[0]), append(p.Labels, of[1]), append(p.Classes, of[2])
	}
	if err == nil && len(p.Images) == 0 {
		err = errors.New("it has no images")
	}
	if err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	return p, nil
}

// RecordOf is the record that a row names as FILE#MODEL: a line of a file of records, or of a CSV
// whose cells say their unit (lines.Read).
func RecordOf(results string) (lines.Model, error) {
	file, name, _ := strings.Cut(results, recordMark)
	models, err := lines.Read(file, lines.CSV{})
	if err != nil {
		return lines.Model{}, err
	}
	var names []string
	for _, m := range models {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return lines.Model{}, fmt.Errorf("experiment: %s has no model %q%s", file, name, nearest.DidYouMean(name, names))
}

const recordMark = "#"

// IsRecord reports whether the results of a row are a line of a file, as in FILE#MODEL.
func IsRecord(results string) bool { return strings.Contains(filepath.Base(results), recordMark) }

// PerImage is what errors of calibration are made of, image by image, for their intervals. In its
// CSV file a value has six decimals.
type PerImage struct {
	Images  []int
	Correct []bool
	Columns []string
	Values  [][]float64 // by column and place of the image; NaN: not there
}

// AddColumn adds a column of NaN, to be filled in.
func (p *PerImage) AddColumn(column string) []float64 {
	values := make([]float64, len(p.Images))
	for i := range values {
		values[i] = math.NaN()
	}
	p.Columns, p.Values = append(p.Columns, column), append(p.Values, values)
	return values
}

// Column is nil for a column that is not there.
func (p *PerImage) Column(column string) []float64 {
	if i := slices.Index(p.Columns, column); i >= 0 {
		return p.Values[i]
	}
	return nil
}

// Write keeps them as a result.
func (p *PerImage) Write(path string) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(append([]string{"image", "correct"}, p.Columns...))
	for i, image := range p.Images {
		record := []string{strconv.Itoa(image), "0"}
		if p.Correct[i] {
			record[1] = "1"
		}
		for _, values := range p.Values {
			text := ""
			if v := values[i]; !math.IsNaN(v) {
				text = strconv.FormatFloat(v, 'f', 6, 64)
			}
			record = append(record, text)
		}
		w.Write(record)
	}
	w.Flush()
	return Keep(path, b.Bytes())
}

// ReadPerImage returns nil for a file that is not there.
func ReadPerImage(path string) (*PerImage, error) {
	text, err := readText(path)
	if text == nil || err != nil {
		return nil, err
	}
	p, err := decodePerImage(text)
	if err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	return p, nil
}

func decodePerImage(text []byte) (*PerImage, error) {
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) == 0 || len(records[0]) < 3 || records[0][0] != "image" || records[0][1] != "correct" {
		return nil, errors.New("its first line does not begin with image,correct and a column")
	}
	p := &PerImage{Columns: records[0][2:], Values: make([][]float64, len(records[0])-2)}
	for n, record := range records[1:] {
		image, err := strconv.Atoi(record[0])
		if err != nil || n > 0 && image <= p.Images[n-1] || record[1] != "0" && record[1] != "1" {
			return nil, fmt.Errorf("line %d: image %q, correct %q; expected ascending numbers, and 0 or 1", n+2,
				record[0], record[1])
		}
		p.Images, p.Correct = append(p.Images, image), append(p.Correct, record[1] == "1")
		for k, text := range record[2:] {
			v := math.NaN()
			if text != "" {
				if v, err = strconv.ParseFloat(text, 64); err != nil || !(v >= 0 && v <= 1) {
					return nil, fmt.Errorf("line %d: %q in %s; expected a number from 0 to 1", n+2, text, p.Columns[k])
				}
			}
			p.Values[k] = append(p.Values[k], v)
		}
	}
	return p, nil
}

// BoundColumns are the columns of the bounds on confidences within a radius.
func BoundColumns(radius float64) (lower, upper string) {
	return fmt.Sprintf("lower %g", radius), fmt.Sprintf("upper %g", radius)
}
