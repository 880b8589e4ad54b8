package dataset

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/dataset/internal/fetch"
	"github.com/certspec/certspec/pixel"
)

// catalog lists the data sets that Open knows by name.
var catalog = []*set{mnist, fashionMNIST, cifar10, cifar100, cifar10JPEG, svhn, emnist, omniglot, notMNIST, synthetic}

// The official names of the files of MNIST and FashionMNIST.
var (
	idxTrain = []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"}
	idxTest  = []string{"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}
)

// Sizes and SHA-256 of all official files come from TensorFlow Datasets
// (tensorflow_datasets/url_checksums); each was found in other public sources, too.

var mnist = &set{
	name:    "mnist",
	title:   "MNIST: handwritten digits",
	license: "MNIST by LeCun, Cortes and Burges, CC BY-SA 3.0",
	folder:  "mnist",
	shape:   pixel.Shape{Height: 28, Width: 28, Channels: 1},
	classes: digits,
	train:   part{"train", 60_000, idxTrain},
	test:    part{"test", 10_000, idxTest},
	read:    readIDXPart,
	sources: []source{
		mnistFile("train-images-idx3-ubyte.gz", 9_912_422,
			"440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
		mnistFile("train-labels-idx1-ubyte.gz", 28_881,
			"3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
		mnistFile("t10k-images-idx3-ubyte.gz", 1_648_877,
			"8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
		mnistFile("t10k-labels-idx1-ubyte.gz", 4_542,
			"f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
	},
}

var fashionMNIST = &set{
	name:    "fashionmnist",
	title:   "FashionMNIST: articles of clothing",
	license: "FashionMNIST by Zalando Research, MIT",
	folder:  "fashion-mnist",
	shape:   pixel.Shape{Height: 28, Width: 28, Channels: 1},
	classes: fashionClasses,
	train:   part{"train", 60_000, idxTrain},
	test:    part{"test", 10_000, idxTest},
	read:    readIDXPart,
	sources: []source{
		fashionFile("train-images-idx3-ubyte.gz", 26_421_880,
			"3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
		fashionFile("train-labels-idx1-ubyte.gz", 29_515,
			"a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
		fashionFile("t10k-images-idx3-ubyte.gz", 4_422_102,
			"346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
		fashionFile("t10k-labels-idx1-ubyte.gz", 5_148,
			"67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
	},
}

func mnistFile(name string, size int64, sha256 string) source {
	return source{name, fetch.File{
		URLs:   []string{"https://storage.googleapis.com/cvdf-datasets/mnist/" + name},
		Size:   size,
		SHA256: sha256,
	}}
}

func fashionFile(name string, size int64, sha256 string) source {
	return source{name, fetch.File{
		URLs:   []string{"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/" + name},
		Size:   size,
		SHA256: sha256,
	}}
}

func readIDXPart(ctx context.Context, paths []string, _ part) (*records, error) {
	return readIDX(ctx, paths[0], paths[1])
}

const cifarLicense = "CIFAR by Krizhevsky (2009), Learning Multiple Layers of Features from Tiny Images; no licence " +
	"stated"

var cifar10 = &set{
	name:    "cifar10",
	title:   "CIFAR-10: small photographs",
	license: cifarLicense,
	folder:  "cifar10",
	shape:   cifarShape,
	classes: cifar10Classes,
	train: part{"train", 50_000, []string{
		"cifar-10-batches-bin/data_batch_1.bin",
		"cifar-10-batches-bin/data_batch_2.bin",
		"cifar-10-batches-bin/data_batch_3.bin",
		"cifar-10-batches-bin/data_batch_4.bin",
		"cifar-10-batches-bin/data_batch_5.bin",
	}},
	test:    part{"test", 10_000, []string{"cifar-10-batches-bin/test_batch.bin"}},
	archive: "cifar-10-binary.tar",
	read: func(ctx context.Context, paths []string, p part) (*records, error) {
		return readCIFAR(ctx, paths, p.files, 1, len(cifar10Classes))
	},
	sources: []source{{"cifar-10-binary.tar.gz", fetch.File{
		URLs:   []string{"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"},
		Size:   170_052_171,
		SHA256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
	}}},
}

var cifar100 = &set{
	name:    "cifar100",
	title:   "CIFAR-100: small photographs, fine labels",
	license: cifarLicense,
	folder:  "cifar100",
	shape:   cifarShape,
	classes: cifar100Classes,
	train:   part{"train", 50_000, []string{"cifar-100-binary/train.bin"}},
	test:    part{"test", 10_000, []string{"cifar-100-binary/test.bin"}},
	archive: "cifar-100-binary.tar",
	read: func(ctx context.Context, paths []string, p part) (*records, error) {
		return readCIFAR(ctx, paths, p.files, 2, len(cifar100Classes))
	},
	sources: []source{{"cifar-100-binary.tar.gz", fetch.File{
		URLs:   []string{"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"},
		Size:   168_513_733,
		SHA256: "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
	}}},
}

var cifar10JPEG = &set{
	name:    "cifar10-jpeg",
	title:   "CIFAR-10 stored as JPEG pictures by a third party",
	license: "JPEG copy of " + cifarLicense,
	folder:  "cifar10-jpeg",
	shape:   cifarShape,
	classes: cifar10Classes,
	train:   part{"train", 50_000, []string{"cifar10-jpeg.tar"}},
	test:    part{"test", 10_000, []string{"cifar10-jpeg.tar"}},
	readPictures: func(ctx context.Context, paths []string, p part, jpeg string) (*records, error) {
		r, err := readFolder(ctx, filepath.Join(paths[0], p.name), Preparation{JPEG: jpeg})
		if err != nil {
			return nil, err
		}
		r.shape = cifarShape
		pictures := r.decode
		r.decode = func(ctx context.Context, ids []int) (*block, error) {
			b, err := pictures(ctx, ids)
			if err == nil && b.shape != cifarShape {
				err = fmt.Errorf("dataset: %s: pictures of %v; expected %v", paths[0], b.shape, cifarShape)
			}
			return b, err
		}
		return r, nil
	},
}

// Set describes a data set that Open knows by name.
type Set struct {
	Name     string      `json:"name"` // Open takes Name + "/train" and Name + "/test"
	Title    string      `json:"title"`
	License  string      `json:"license"`
	Shape    pixel.Shape `json:"shape"`
	Classes  int         `json:"classes"`
	Train    int         `json:"train"`    // number of images
	Test     int         `json:"test"`     // number of images
	Present  bool        `json:"present"`  // whether both splits are on this machine
	Official bool        `json:"official"` // whether Fetch can download it
}

// Sets lists the data sets that Open knows by name.
func Sets() []Set {
	list := make([]Set, len(catalog))
	for i, s := range catalog {
		list[i] = Set{
			Name:     s.name,
			Title:    s.title,
			License:  s.license,
			Shape:    s.shape,
			Classes:  len(s.classes),
			Train:    s.train.count,
			Test:     s.test.count,
			Present:  s.present() == nil,
			Official: s.sources != nil,
		}
	}
	return list
}

func names() []string {
	list := make([]string, len(catalog))
	for i, s := range catalog {
		list[i] = s.name
	}
	return list
}

// findSet gives the set of a name, or nil.
func findSet(name string) *set {
	i := slices.IndexFunc(catalog, func(s *set) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return catalog[i]
}
