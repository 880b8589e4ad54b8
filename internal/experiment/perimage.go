package experiment

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
)

// perImage is what errors of calibration are made of, image by image, for their intervals. In its
// CSV file a value has six decimals.
type perImage struct {
	images  []int
	correct []bool
	columns []string
	values  [][]float64 // by column and place of the image; NaN: not there
}

func (p *perImage) add(column string) []float64 {
	values := make([]float64, len(p.images))
	for i := range values {
		values[i] = math.NaN()
	}
	p.columns, p.values = append(p.columns, column), append(p.values, values)
	return values
}

// of is nil for a column that is not there.
func (p *perImage) of(column string) []float64 {
	if i := slices.Index(p.columns, column); i >= 0 {
		return p.values[i]
	}
	return nil
}

func (p *perImage) write(path string) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(append([]string{"image", "correct"}, p.columns...))
	for i, image := range p.images {
		record := []string{strconv.Itoa(image), "0"}
		if p.correct[i] {
			record[1] = "1"
		}
		for _, values := range p.values {
			text := ""
			if v := values[i]; !math.IsNaN(v) {
				text = strconv.FormatFloat(v, 'f', 6, 64)
			}
			record = append(record, text)
		}
		w.Write(record)
	}
	w.Flush()
	return keep(path, b.Bytes())
}

// readPerImage returns nil for a file that is not there.
func readPerImage(path string) (*perImage, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	p, err := decodePerImage(text)
	if err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	return p, nil
}

func decodePerImage(text []byte) (*perImage, error) {
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) == 0 || len(records[0]) < 3 || records[0][0] != "image" || records[0][1] != "correct" {
		return nil, errors.New("its first line does not begin with image,correct and a column")
	}
	p := &perImage{columns: records[0][2:], values: make([][]float64, len(records[0])-2)}
	for n, record := range records[1:] {
		image, err := strconv.Atoi(record[0])
		if err != nil || n > 0 && image <= p.images[n-1] || record[1] != "0" && record[1] != "1" {
			return nil, fmt.Errorf("line %d: image %q, correct %q; expected ascending numbers, and 0 or 1", n+2,
				record[0], record[1])
		}
		p.images, p.correct = append(p.images, image), append(p.correct, record[1] == "1")
		for k, text := range record[2:] {
			v := math.NaN()
			if text != "" {
				if v, err = strconv.ParseFloat(text, 64); err != nil || !(v >= 0 && v <= 1) {
					return nil, fmt.Errorf("line %d: %q in %s; expected a number from 0 to 1", n+2, text, p.columns[k])
				}
			}
			p.values[k] = append(p.values[k], v)
		}
	}
	return p, nil
}
