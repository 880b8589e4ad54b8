package store

import (
	"errors"
	"testing"

	"github.com/certspec/certspec/internal/experiment/recipe"
)

// Folders that were begun before names said how JPEG pictures are decoded go on as they were; new ones say it.
func TestFoldersOfEarlierDecoder(t *testing.T) {
	for _, folder := range []string{"A", "B", "C", "D", "standard-evidence"} {
		folder = "../../../notebooks/results/experiments/" + folder
		there, err := ReadManifest(folder)
		if err != nil {
			t.Fatal(err)
		}
		here, err := ReadManifest(folder)
		if err != nil {
			t.Fatal(err)
		}
		for i := range here.Models {
			m := &here.Models[i]
			m.Train, m.Test, m.Check = recipe.WithDecoder(m.Train), recipe.WithDecoder(m.Test), recipe.WithDecoder(m.Check)
			for name, f := range m.More {
				f.Data = recipe.WithDecoder(f.Data)
				m.More[name] = f
			}
		}
		before := CompactJSON(there)
		if begun, err := here.asBegun(there); err != nil || CompactJSON(begun) != before {
			t.Errorf("%s: begun anew as another: %v", folder, err)
		} else if err := there.Join(folder, begun); err != nil || CompactJSON(there) != before {
			t.Errorf("%s: %v", folder, err)
		}
		if CompactJSON(here) == before {
			continue // without JPEG pictures
		}
		if again, err := here.asBegun(here); err != nil || again != here {
			t.Errorf("%s: a folder that says the decoder loses it: %v", folder, err)
		}
	}
	for name, want := range map[string]string{
		"cifar10-jpeg/train[count=8000]":     "cifar10-jpeg/train[jpeg=libjpeg-turbo,count=8000]",
		"cifar10-jpeg/test":                  "cifar10-jpeg/test[jpeg=libjpeg-turbo]",
		"cifar10-jpeg/test[jpeg=go1.26]":     "cifar10-jpeg/test[jpeg=go1.26]",
		"folder:/data/imagenet[resize=256]":  "folder:/data/imagenet[jpeg=libjpeg-turbo,resize=256]",
		"fashionmnist/test[count=5]":         "fashionmnist/test[count=5]",
		"npy:a.npy,b.npy,severity=3[skip=2]": "npy:a.npy,b.npy,severity=3[skip=2]",
	} {
		if got := recipe.WithDecoder(name); got != want {
			t.Errorf("%s becomes %s; expected %s", name, got, want)
		}
	}
	if d, err := recipe.OpenSet("cifar10-jpeg/train[count=8000]"); err != nil || d.String() != "cifar10-jpeg/train[jpeg=go1.26,count=8000]" {
		t.Errorf("the name of an earlier folder opens %v, %v", d, err)
	}
}

// A table that is asked for again has the title and the reference that its recipe has now; what it measures cannot change.
func TestTableOfChangedWords(t *testing.T) {
	m := &Manifest{Tables: []Table{{Table: recipe.Table{Name: "main", Title: "before", Compare: "Gaussian"}}}}
	now := recipe.Table{Name: "main", Title: "after", Source: "table 1", Compare: "AugMix"}
	if err := m.Join("folder", &Manifest{Tables: []Table{{Table: now}}}); err != nil {
		t.Fatal(err)
	}
	if got := m.Tables[0].Table; len(m.Tables) != 1 || CompactJSON(got) != CompactJSON(now) {
		t.Errorf("%+v, want %+v", got, now)
	}
	now.Measure.Radii.Clean = true
	var mismatch *MismatchError
	if err := m.Join("folder", &Manifest{Tables: []Table{{Table: now}}}); !errors.As(err, &mismatch) {
		t.Errorf("another measure: %v", err)
	}
}
