package dataset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/pixel"
)

// DataVariable is the environment variable that names the folder of data sets on this machine.
const DataVariable = "CERTSPEC_DATA"

// set is a data set that Open knows by name.
type set struct {
	name    string // as in "fashionmnist/test"
	title   string
	license string
	folder  string // below $CERTSPEC_DATA and below the cache
	shape   pixel.Shape
	classes []string
	train   int // number of images
	test    int
	files   map[string][]string // split → the files it needs, without .gz
	read    func(ctx context.Context, paths []string, split string) (*records, error)
}

var sets = []*set{
	{
		name:    "mnist",
		title:   "MNIST: handwritten digits",
		license: "MNIST by LeCun, Cortes and Burges, CC BY-SA 3.0",
		folder:  "mnist",
		shape:   pixel.Shape{Height: 28, Width: 28, Channels: 1},
		classes: digits,
		train:   60_000,
		test:    10_000,
		files:   idxFiles,
		read:    readIDXSplit,
	},
	{
		name:    "fashionmnist",
		title:   "FashionMNIST: articles of clothing",
		license: "FashionMNIST by Zalando Research, MIT",
		folder:  "fashion-mnist",
		shape:   pixel.Shape{Height: 28, Width: 28, Channels: 1},
		classes: fashionClasses,
		train:   60_000,
		test:    10_000,
		files:   idxFiles,
		read:    readIDXSplit,
	},
	{
		name:    "cifar10-jpeg",
		title:   "CIFAR-10 stored as JPEG pictures by a third party",
		license: "CIFAR-10 by Krizhevsky (2009), no licence stated; JPEG copy of a third party",
		folder:  "cifar10-jpeg",
		shape:   pixel.Shape{Height: 32, Width: 32, Channels: 3},
		classes: cifar10Classes,
		train:   50_000,
		test:    10_000,
		files:   map[string][]string{"train": {"cifar10-jpeg.tar"}, "test": {"cifar10-jpeg.tar"}},
		read: func(ctx context.Context, paths []string, split string) (*records, error) {
			return readFolder(ctx, filepath.Join(paths[0], split))
		},
	},
}

// The official names of the four files.
var idxFiles = map[string][]string{
	"train": {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
	"test":  {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
}

func readIDXSplit(ctx context.Context, paths []string, _ string) (*records, error) {
	return readIDX(ctx, paths[0], paths[1])
}

var (
	digits = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	// Table 2 of Xiao, Rasul, Vollgraf: Fashion-MNIST, 2017.
	fashionClasses = []string{
		"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
	}
	cifar10Classes = []string{
		"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
	}
)

// splits are the parts that every named set has.
var splits = []string{"train", "test"}

// count is the number of images of a split.
func (s *set) count(split string) int {
	if split == "train" {
		return s.train
	}
	return s.test
}

// load finds and reads a split, and checks that it is what its name says.
func (s *set) load(ctx context.Context, split string) (*records, error) {
	paths, err := s.find(split)
	if err != nil {
		return nil, err
	}
	r, err := s.read(ctx, paths, split)
	if err != nil {
		return nil, err
	}
	if r.shape != s.shape || len(r.labels) != s.count(split) {
		return nil, fmt.Errorf("dataset: %s: %d images of %v; expected %d of %v for %s/%s",
			paths[0], len(r.labels), r.shape, s.count(split), s.shape, s.name, split)
	}
	if len(r.classes) > 0 && !slices.Equal(r.classes, s.classes) {
		return nil, fmt.Errorf("dataset: %s: classes %q; expected %q", paths[0], r.classes, s.classes)
	}
	r.classes = s.classes
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", strings.Join(paths, ", "), err)
	}
	return r, nil
}

// find gives the paths of the files of a split: in $CERTSPEC_DATA, else in the cache.
func (s *set) find(split string) ([]string, error) {
	var folders []string
	if root := os.Getenv(DataVariable); root != "" {
		folders = append(folders, filepath.Join(root, s.folder))
	}
	cached, err := cache.Dir("data")
	if err != nil {
		return nil, err
	}
	folders = append(folders, filepath.Join(cached, s.folder))
	for _, folder := range folders {
		if paths := findAll(folder, s.files[split]); paths != nil {
			return paths, nil
		}
	}
	return nil, &MissingError{Name: s.name + "/" + split, Folders: folders, Files: s.files[split]}
}

// findAll gives the path of every file in the folder, plain or gzipped, or nil if one is not there.
func findAll(folder string, files []string) []string {
	var paths []string
	for _, file := range files {
		for _, suffix := range []string{"", ".gz"} {
			path := filepath.Join(folder, file+suffix)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				paths = append(paths, path)
				break
			}
		}
	}
	if len(paths) < len(files) {
		return nil
	}
	return paths
}

// MissingError says that the files of a data set are not on this machine.
type MissingError struct {
	Name    string   // e.g. "fashionmnist/test"
	Folders []string // where they were looked for
	Files   []string // what was looked for; each may also be gzipped
}

func (e *MissingError) Error() string {
	name, _, _ := strings.Cut(e.Name, "/")
	return fmt.Sprintf("dataset: %s is not on this machine: no %s in %s; get it with: certspec dataset fetch %s (or set %s to a folder that has it)",
		e.Name, strings.Join(e.Files, " and "), strings.Join(e.Folders, " or "), name, DataVariable)
}
