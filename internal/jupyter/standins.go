package jupyter

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// standInMark is in the note that package nb shows where drawn values stand in for data.
const standInMark = "certspec-stand-in"

// StandIns lists the cells of an executed notebook, from 0, whose outputs come of data that stand
// in for those which the notebook is about: cells with a note of package nb, and cells that name a
// split of the built-in drawn set where no cell asks for it.
func StandIns(file string) (cells []int, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var notebook struct {
		Cells []struct {
			Source  sourceLines
			Outputs []struct {
				Text sourceLines
				Data map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(data, &notebook); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	drawn := []string{"synthetic/test", "synthetic/train"}
	for _, cell := range notebook.Cells {
		drawn = slices.DeleteFunc(drawn, func(name string) bool {
			return strings.Contains(strings.Join(cell.Source, ""), name)
		})
	}
	for i, cell := range notebook.Cells {
		for _, output := range cell.Outputs {
			text := strings.Join(output.Text, "")
			for _, form := range output.Data {
				text += string(form)
			}
			if strings.Contains(text, standInMark) || slices.ContainsFunc(drawn,
				func(name string) bool { return strings.Contains(text, name) }) {
				cells = append(cells, i)
				break
			}
		}
	}
	return cells, nil
}

// sourceLines is text that a notebook holds as one string or several.
type sourceLines []string

func (l *sourceLines) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = strings.SplitAfter(one, "\n")
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}
