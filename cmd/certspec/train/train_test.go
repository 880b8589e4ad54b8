package train

import (
	"maps"
	"strings"
	"testing"
)

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

// A value of --data with a name before it is a further set; names of sets may hold an equals sign themselves.
func TestDataSets(t *testing.T) {
	learn, more, err := dataSets([]string{"out=folder:/a=b[count=3]", "cifar10[count=500]", "plain=svhn/train"})
	if err != nil || learn != "cifar10[count=500]" || !maps.Equal(more, map[string]string{"out": "folder:/a=b[count=3]", "plain": "svhn/train"}) {
		t.Errorf("%q, %q, %v", learn, more, err)
	}
	for want, values := range map[string][]string{
		"expected one set to learn from": {"mnist", "svhn"},
		"the set out twice":              {"mnist", "out=svhn", "out=cifar10"},
	} {
		if _, _, err := dataSets(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want it to say %q", values, err, want)
		}
	}
	for want, setting := range map[string]string{
		"expected NAME.KEY=VALUE": "in.augment=crop", "expected one of none, crop-flip": "out.augment=zoom", "no setting": "out.colour=1",
		"a whole number of at least 1": "out.batch=0", "a number of at least 0": "out.sigma=-1",
	} {
		if _, err := openSets(map[string]string{"out": "synthetic"}, []string{setting}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want it to say %q", setting, err, want)
		}
	}
	sets, err := openSets(map[string]string{"out": "synthetic"}, []string{"out.augment=crop", "out.batch=7", "out.views=autoaugment", "out.sigma=0.5"})
	if s := sets["out"]; err != nil || s.Augment != "crop" || s.Batch != 7 || s.Views != "autoaugment" || s.Sigma != 0.5 || s.Data == nil {
		t.Errorf("%+v, %v", sets, err)
	}
}
