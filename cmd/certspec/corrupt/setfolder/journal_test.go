package setfolder

import (
	"fmt"
	"testing"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/testkit/journaltest"
)

func TestManifestsAreSafe(t *testing.T) {
	journaltest.Test(t, journaltest.User{
		File:    manifestName,
		Refuses: true,
		Value:   true,
		Put: func(folder string, item int) error {
			m := &Manifest{Generator: "test"}
			return m.write(folder, MadeFile{File: corrupt.File{Name: fmt.Sprint(item)}, SHA256: "sha"})
		},
		Items: func(folder string) (items []int, err error) {
			m, err := readManifest(folder)
			if m == nil || err != nil {
				return nil, err
			}
			for _, f := range m.Files {
				var item int
				fmt.Sscan(f.Name, &item)
				items = append(items, item)
			}
			return items, nil
		},
	})
}
