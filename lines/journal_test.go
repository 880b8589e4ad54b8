package lines

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/testkit/journaltest"
)

func TestRecordsAreSafe(t *testing.T) {
	file := func(folder string) string { return filepath.Join(folder, "r.jsonl") }
	journaltest.Test(t, journaltest.User{
		File: "r.jsonl",
		Put: func(folder string, item int) error {
			return PutRecord(file(folder), Record{Model: fmt.Sprint(item), Percent: map[string]float64{"x": 50}})
		},
		Items: func(folder string) (items []int, err error) {
			models, err := Read(file(folder), CSV{})
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			for _, m := range models {
				var item int
				fmt.Sscan(m.Name, &item)
				items = append(items, item)
			}
			return items, err
		},
	})
}
