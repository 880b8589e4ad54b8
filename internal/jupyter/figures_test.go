package jupyter

import (
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit/boxes"
)

var (
	inlineDrawing = regexp.MustCompile(`(?s)<svg\b.*?</svg>`)
	foldedDrawing = regexp.MustCompile(`data:image/svg\+xml;base64,([^"]+)`)
	widgetFrames  = regexp.MustCompile(`const data = (\{.*\});`)
)

// drawings are all drawings of an output: figures, those in folds, and every frame of a widget.
func drawings(o paperOutput) (all []string) {
	if drawing := o.text("image/svg+xml"); drawing != "" {
		all = append(all, drawing)
	}
	page := o.text("text/html")
	for _, found := range foldedDrawing.FindAllStringSubmatch(page, -1) {
		data, _ := base64.StdEncoding.DecodeString(found[1])
		all = append(all, string(data))
	}
	for _, found := range widgetFrames.FindAllStringSubmatch(page, -1) {
		var data struct {
			Pieces []string
			Frames [][]int
		}
		if json.Unmarshal([]byte(found[1]), &data) != nil {
			continue
		}
		for _, frame := range data.Frames {
			var whole strings.Builder
			for _, piece := range frame {
				whole.WriteString(data.Pieces[piece])
			}
			all = append(all, inlineDrawing.FindAllString(whole.String(), -1)...)
		}
	}
	return all
}

// In the figures of the committed notebooks no text is clipped, and no two collide. Powers of ten are set as such.
func TestTextsOfFigures(t *testing.T) {
	files, _ := filepath.Glob("../../notebooks/*.ipynb")
	count := 0
	for _, file := range files {
		seen := map[string]bool{}
		for i, cell := range paperCells(t, file) {
			for _, o := range cell.Outputs {
				for _, drawing := range drawings(o) {
					count++
					faults, err := boxes.Faults([]byte(drawing))
					if err != nil {
						t.Errorf("%s, cell %d: %v", filepath.Base(file), i, err)
						continue
					}
					for _, fault := range faults {
						if !seen[fault] { // once for all frames of a widget
							seen[fault] = true
							t.Errorf("%s, cell %d: %s", filepath.Base(file), i, fault)
						}
					}
					if regexp.MustCompile(`>1e[-+]?\d+<`).MatchString(drawing) {
						t.Errorf("%s, cell %d: a power of ten as a program writes it", filepath.Base(file), i)
					}
				}
			}
		}
	}
	if count < 60 {
		t.Errorf("%d drawings in %d notebooks", count, len(files))
	}
}
