package dataset

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/pixel"
)

// Sets that serve as foreign images, beside svhn and the noise. None is downloaded: their owners give them out.

var emnist = &set{
	name:    "emnist",
	title:   "EMNIST Letters: handwritten letters, upright",
	license: "EMNIST by Cohen, Afshar, Tapson and van Schaik (2017), NIST Special Database 19",
	folder:  "emnist",
	shape:   pixel.Shape{Height: 28, Width: 28, Channels: 1},
	classes: strings.Fields("a b c d e f g h i j k l m n o p q r s t u v w x y z"),
	train: part{"train", 124_800, []string{"emnist-letters-train-images-idx3-ubyte",
		"emnist-letters-train-labels-idx1-ubyte"}},
	test: part{"test", 20_800, []string{"emnist-letters-test-images-idx3-ubyte",
		"emnist-letters-test-labels-idx1-ubyte"}},
	read: func(ctx context.Context, paths []string, p part) (*records, error) {
		r, err := readIDX(ctx, paths[0], paths[1])
		if err != nil {
			return nil, err
		}
		for i, label := range r.labels {
			if r.labels[i] = label - 1; label < 1 || label > 26 {
				return nil, fmt.Errorf("dataset: %s: label %d is %d; expected 1 to 26, as EMNIST Letters has them",
					paths[1], i, label)
			}
		}
		transpose(&r.block)
		return r, nil
	},
}

// transpose swaps rows and columns of square grey images: the files of EMNIST hold them so.
func transpose(b *block) {
	side, size := b.shape.Width, b.shape.Len()
	if b.shape.Height != side || b.shape.Channels != 1 {
		return // of another shape than the set's, which is refused
	}
	for at := 0; at+size <= len(b.pixels); at += size {
		image := b.pixels[at : at+size]
		for y := range side {
			for x := range y {
				image[y*side+x], image[x*side+y] = image[x*side+y], image[y*side+x]
			}
		}
	}
}

var omniglot = &set{
	name:    "omniglot",
	title:   "Omniglot: handwritten characters of 30 (train) and 20 (test) alphabets, dark on white",
	license: "Omniglot by Lake, Salakhutdinov and Tenenbaum (2015), MIT",
	folder:  "omniglot",
	shape:   pixel.Shape{Height: 105, Width: 105, Channels: 1},
	train:   part{"train", 19_280, []string{"images_background"}},
	test:    part{"test", 13_180, []string{"images_evaluation"}},
	trees:   true,
	read: func(ctx context.Context, paths []string, p part) (*records, error) {
		return readTree(ctx, paths[0], nil)
	},
}

var notMNIST = &set{
	name:    "notmnist",
	title:   "notMNIST: letters A to J in many typefaces, the small set",
	license: "notMNIST by Bulatov (2011); no licence stated",
	folder:  "notmnist",
	shape:   pixel.Shape{Height: 28, Width: 28, Channels: 1},
	classes: strings.Fields("A B C D E F G H I J"),
	test:    part{"test", 18_724, []string{"notMNIST_small"}},
	trees:   true,
	read: func(ctx context.Context, paths []string, p part) (*records, error) {
		return readTree(ctx, paths[0], brokenNotMNIST)
	},
}

// brokenNotMNIST are the two files of the small set that hold no picture.
var brokenNotMNIST = []string{"A/RGVtb2NyYXRpY2FCb2xkT2xkc3R5bGUgQm9sZC50dGY=.png",
	"F/Q3Jvc3NvdmVyIEJvbGRPYmxpcXVlLnR0Zg==.png"}

// readTree reads all pictures below a folder, but for some. Labels are the places of the outermost
// folders in their sorted order.
func readTree(ctx context.Context, root string, leftOut []string) (*records, error) {
	f := &folder{root: root}
	if err := f.listTree(ctx); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", root, err)
	}
	f.pictures = slices.DeleteFunc(f.pictures, func(name string) bool { return slices.Contains(leftOut, name) })
	r := &records{labels: make([]int, len(f.pictures))}
	for i, name := range f.pictures {
		outermost, _, _ := strings.Cut(name, "/")
		if len(r.classes) == 0 || r.classes[len(r.classes)-1] != outermost {
			r.classes = append(r.classes, outermost)
		}
		r.labels[i] = len(r.classes) - 1
		if path.Dir(name) == "." {
			return nil, fmt.Errorf("dataset: %s stands in no folder; expected those of the official archive",
				filepath.Join(root, name))
		}
	}
	b, err := f.decode(ctx, f.pictures, Preparation{})
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", root, err)
	}
	r.block = *b
	return r, nil
}
