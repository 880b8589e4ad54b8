package dataset

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/certspec/certspec/pixel"
)

var svhn = &set{
	name:    "svhn",
	title:   "SVHN: digits of house numbers, cropped",
	license: "SVHN by Netzer et al. (2011), for non-commercial use",
	folder:  "svhn",
	shape:   cifarShape,
	classes: digits,
	train:   part{"train", 73_257, []string{"train_32x32.mat"}},
	test:    part{"test", 26_032, []string{"test_32x32.mat"}},
	read: func(ctx context.Context, paths []string, _ part) (*records, error) {
		f, err := os.Open(paths[0])
		if err != nil {
			return nil, fmt.Errorf("dataset: %w", err)
		}
		defer f.Close()
		r, err := decodeSVHN(contextReader{ctx, f})
		if err != nil {
			return nil, fmt.Errorf("dataset: %s: %w", paths[0], err)
		}
		return r, nil
	},
}

// decodeSVHN reads a MATLAB file with X, 32 × 32 × 3 × n, the first dimension (rows) fastest, and
// y, n labels, of which 10 means the digit 0.
func decodeSVHN(in io.Reader) (*records, error) {
	arrays, err := readMAT(in)
	if err != nil {
		return nil, err
	}
	var x, y *matArray
	for i := range arrays {
		switch arrays[i].name {
		case "X":
			x = &arrays[i]
		case "y":
			y = &arrays[i]
		}
	}
	if x == nil || y == nil {
		return nil, fmt.Errorf("no arrays X and y of numbers; expected images and labels")
	}
	if len(x.dims) != 4 || x.kind != matUint8 || x.dims[2] != 3 {
		return nil, fmt.Errorf("array X is of %v, type %d; expected height × width × 3 × images of bytes", x.dims,
			x.kind)
	}
	labels, err := y.whole()
	if err != nil {
		return nil, err
	}
	s := pixel.Shape{Height: x.dims[0], Width: x.dims[1], Channels: 3}
	n := x.dims[3]
	if len(labels) != n {
		return nil, fmt.Errorf("%d images and %d labels", n, len(labels))
	}
	r := &records{labels: labels, block: block{shape: s, pixels: make([]uint8, len(x.values))}}
	for i, label := range labels {
		if label < 1 || label > 10 {
			return nil, fmt.Errorf("label %d is %d; expected 1 to 10, which means 0", i, label)
		}
		labels[i] = label % 10
	}
	size := s.Len()
	for i := range n {
		image := x.values[i*size : (i+1)*size]
		for c := range 3 {
			for w := range s.Width {
				for h := range s.Height {
					r.pixels[i*size+(h*s.Width+w)*3+c] = image[(c*s.Width+w)*s.Height+h]
				}
			}
		}
	}
	return r, nil
}
