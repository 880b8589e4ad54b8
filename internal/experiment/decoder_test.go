package experiment

import "testing"

// Folders that were begun before names said how JPEG pictures are decoded go on as they were; new ones say it.
func TestFoldersOfEarlierDecoder(t *testing.T) {
	for _, folder := range []string{"A", "B", "C", "D", "standard-evidence"} {
		folder = "../../notebooks/results/experiments/" + folder
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
			m.Train, m.Test, m.Check = decoded(m.Train), decoded(m.Test), decoded(m.Check)
			for name, f := range m.More {
				f.Data = decoded(f.Data)
				m.More[name] = f
			}
		}
		before := compact(there)
		if begun, err := here.asBegun(there); err != nil || compact(begun) != before {
			t.Errorf("%s: begun anew as another: %v", folder, err)
		} else if err := there.join(folder, begun); err != nil || compact(there) != before {
			t.Errorf("%s: %v", folder, err)
		}
		if compact(here) == before {
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
		if got := decoded(name); got != want {
			t.Errorf("%s becomes %s; expected %s", name, got, want)
		}
	}
	if d, err := openSet("cifar10-jpeg/train[count=8000]"); err != nil || d.String() != "cifar10-jpeg/train[jpeg=go1.26,count=8000]" {
		t.Errorf("the name of an earlier folder opens %v, %v", d, err)
	}
}
