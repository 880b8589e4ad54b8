// Package imageset holds a loaded set of labelled images: plain data, which packages that compute take and package
// dataset reads.
package imageset

import (
	"slices"

	"github.com/certspec/certspec/pixel"
)

// Images is a loaded data set: plain data, read-only by convention.
type Images struct {
	Name    string      // canonical name with its subset, e.g. "fashionmnist/test[skip=20]"
	Shape   pixel.Shape // of every image
	Classes []string    // class names; index = label
	IDs     []int       // stable id of each image: its index in the base set, before any subset; ascending
	Labels  []int       // label of each image in [0, len(Classes)); -1 where unknown
	Pixels  []uint8     // len(IDs)*Shape.Len() bytes, HWC
	// of images off the range of bytes: what is added to Pixels, in steps of 1/255, unclipped; else
	// nil
	Offsets []int16
	// of images with Offsets that are off the grid: what is added to Grid, in units of the full
	// range, under noise in real arithmetic; else nil
	Residues []float32
	Folders  map[string]int // of a folder of classes: the label of each folder; else nil
	Digest   string         // "sha256:…" of the decoded pixels and labels of these images
	License  string         // licence or source in a few words
	Warnings []string       // e.g. classes that a subset leaves out
}

// Len is the number of images.
func (im *Images) Len() int { return len(im.IDs) }

// Image is the pixels of the i-th image, HWC; the slice is shared.
func (im *Images) Image(i int) []uint8 {
	n := im.Shape.Len()
	return im.Pixels[i*n : (i+1)*n : (i+1)*n]
}

// Grid is the i-th image in steps of 1/255, HWC, with its offsets: a new slice.
func (im *Images) Grid(i int) []int16 {
	n := im.Shape.Len()
	grid := make([]int16, n)
	for k, b := range im.Image(i) {
		grid[k] = int16(b)
	}
	if im.Offsets != nil {
		for k, o := range im.Offsets[i*n : (i+1)*n] {
			grid[k] += o
		}
	}
	return grid
}

// Residue is the part of the i-th image beyond Grid; nil: none. The slice is shared.
func (im *Images) Residue(i int) []float32 {
	if im.Residues == nil {
		return nil
	}
	n := im.Shape.Len()
	return im.Residues[i*n : (i+1)*n : (i+1)*n]
}

// Index is the position of the image with the given id, or -1.
func (im *Images) Index(id int) int {
	i, found := slices.BinarySearch(im.IDs, id)
	if !found {
		return -1
	}
	return i
}

// ClassCounts is the number of images of each class; images of unknown label are in none.
func (im *Images) ClassCounts() []int {
	counts := make([]int, len(im.Classes))
	for _, label := range im.Labels {
		if label >= 0 {
			counts[label]++
		}
	}
	return counts
}

// Take returns the images at some places, in that order; Index finds images only if it ascends. Digest and the rest
// stay those of im.
func (im *Images) Take(places []int) *Images {
	some := *im
	some.IDs, some.Labels, some.Pixels, some.Offsets, some.Residues = nil, nil, nil, nil, nil
	n := im.Shape.Len()
	for _, i := range places {
		some.IDs, some.Labels = append(some.IDs, im.IDs[i]), append(some.Labels, im.Labels[i])
		some.Pixels = append(some.Pixels, im.Image(i)...)
		some.Residues = append(some.Residues, im.Residue(i)...)
		if im.Offsets != nil {
			some.Offsets = append(some.Offsets, im.Offsets[i*n:(i+1)*n]...)
		}
	}
	return &some
}
