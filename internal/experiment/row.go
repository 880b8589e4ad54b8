package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/onnxfile"
)

// recipeLines makes the lines of a row of a recipe with their models.
func (s *Setup) recipeLines(row tableRow) (lines []tableLine, models []Model, err error) {
	r, err := s.Library.Recipe(row.Recipe)
	if err != nil {
		return nil, nil, err
	}
	points := max(1, len(s.grid(r)))
	for p := range points {
		point := p + 1
		if len(r.Grid) == 0 {
			point = 0
		}
		var line tableLine
		if len(row.Seeds) > 0 {
			r.Seeds = row.Seeds
		}
		for _, seed := range s.seeds(r) {
			m, err := s.Model(row.Recipe, point, seed)
			if err != nil {
				return nil, nil, err
			}
			line.Title, line.Group, line.Models = m.Title, m.Group, append(line.Models, m.Name)
			models = append(models, m)
		}
		if row.Title != "" {
			line.Title = row.Title
			if points > 1 {
				line.Title += fmt.Sprintf(" #%d", point)
			}
		}
		lines = append(lines, line)
	}
	return lines, models, nil
}

// card is what a row says of an ONNX file.
func (m Model) card() (onnx.Card, error) {
	var c onnx.Card
	if m.ONNX == nil {
		return c, nil
	}
	if !onnxfile.IsName(m.File) {
		return c, fmt.Errorf("onnx is for an ONNX file, and %s is none", m.File)
	}
	text, err := json.Marshal(m.ONNX)
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&c)
	}
	if err != nil {
		err = fmt.Errorf("onnx: %w", err)
	}
	return c, err
}
