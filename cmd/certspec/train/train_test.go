package train

import "testing"

func TestParts(t *testing.T) {
	for name, want := range map[string][2]string{
		"fashionmnist":              {"fashionmnist/train", "fashionmnist/test"},
		"cifar10[count=500]":        {"cifar10/train[count=500]", "cifar10/test"},
		"cifar10/train[skip=2]":     {"cifar10/train[skip=2]", "cifar10/test"},
		"mnist/test":                {"mnist/test", ""},
		"folder:/data/birds/train":  {"folder:/data/birds/train", ""},
		"npy:images.npy,labels.npy": {"npy:images.npy,labels.npy", ""},
	} {
		if train, test := parts(name); train != want[0] || test != want[1] {
			t.Errorf("%s: %q and %q, want %q", name, train, test, want)
		}
	}
}
