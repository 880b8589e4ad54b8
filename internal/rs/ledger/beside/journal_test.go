package beside

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/journaltest"
)

func beside(folder string) string { return filepath.Join(folder, "l") }

func TestChecksAreSafe(t *testing.T) {
	journaltest.Test(t, journaltest.User{
		File: "l.checks",
		Put: func(folder string, item int) error {
			return AppendChecks(beside(folder), purity.Found{Answers: 1 << item})
		},
		Items: func(folder string) (items []int, err error) {
			found, err := ReadChecks(beside(folder))
			for item := range journaltest.Most + 1 {
				if found.Answers>>item&1 == 1 { // an item that is there twice would be the next one
					items = append(items, item)
				}
			}
			return items, err
		},
	})
}

func TestTimesAreSafe(t *testing.T) {
	journaltest.Test(t, journaltest.User{
		File: "l.times",
		Put: func(folder string, item int) error {
			return AppendTimes(beside(folder), []Time{{Image: item, Samples: 100}})
		},
		Items: func(folder string) (items []int, err error) {
			times, err := ReadTimes(beside(folder))
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			for _, one := range times {
				items = append(items, one.Image)
			}
			return items, err
		},
	})
}

// A line that a program of before tore, and another run appended to, is dropped; what follows in it is read.
func TestChecksBehindATornLine(t *testing.T) {
	path := beside(t.TempDir())
	for _, torn := range []string{
		"{", `{"answers":10`, `{"answers":100,"invalid":0,"compari`, `{"first_answers":[{"image":"12`,
	} {
		whole := `{"answers":7,"invalid":0,"comparisons":3,"beyond":1,"changed":0,"largest":0,"again":0}` + "\n"
		overwrite(t, checksPath(path), whole+torn+whole)
		found, err := ReadChecks(path)
		if err != nil || found.Answers != 14 || found.Beyond != 2 {
			t.Errorf("%s: %+v, %v", torn, found, err)
		}
	}
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	testkit.Write(t, []byte(text), path)
}
