package evaluate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/testkit/journaltest"
)

func TestTablesAreSafe(t *testing.T) {
	file := func(folder string) string { return filepath.Join(folder, "acc.csv") }
	journaltest.Test(t, journaltest.User{
		File:    "acc.csv",
		Refuses: true, // a number that was cut is a number
		Put: func(folder string, item int) error {
			return UpdateTable(file(folder), func(t *Table) {
				t.Put(fmt.Sprint(item), nil, []Pooled{{Set: "clean", Right: item, Images: 100}})
			})
		},
		Items: func(folder string) (items []int, err error) {
			t, err := ReadTable(file(folder))
			if err != nil {
				return nil, err
			}
			for _, m := range t.models {
				var item int
				fmt.Sscan(m[ModelColumn], &item)
				if m["clean"] != fmt.Sprintf("%d/100", item) {
					return nil, fmt.Errorf("%v", m)
				}
				items = append(items, item)
			}
			return items, nil
		},
	})
}

func TestPartsAreSafe(t *testing.T) {
	journaltest.Test(t, journaltest.User{
		File:    "parts.json",
		Refuses: true,
		Value:   true,
		Put: func(folder string, item int) error {
			r := recording{RecordOptions: RecordOptions{Parts: filepath.Join(folder, "parts.json")}}
			r.kept = parts{Of: map[string]any{"data": "x"}, Parts: map[string]part{fmt.Sprint(item): {}}}
			return r.keep()
		},
		Items: func(folder string) (items []int, err error) {
			text, err := os.ReadFile(filepath.Join(folder, "parts.json"))
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			r := recording{kept: parts{Parts: map[string]part{}}}
			if err := r.join(text); err != nil {
				return nil, err
			}
			for name := range r.kept.Parts {
				var item int
				fmt.Sscan(name, &item)
				items = append(items, item)
			}
			return items, nil
		},
	})
}
