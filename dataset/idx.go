package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/certspec/certspec/internal/inflate"
	"github.com/certspec/certspec/pixel"
)

// The IDX format of MNIST: two zero bytes, a type byte, the number of dimensions,
// each dimension as a big-endian 32-bit integer, then the values, last dimension fastest.
const (
	idxLabels = 0x00000801 // unsigned bytes, 1 dimension
	idxImages = 0x00000803 // unsigned bytes, 3 dimensions: images, rows, columns
)

// maxBytes bounds the decoded size of a set, so that a damaged header cannot ask for more memory than that.
const maxBytes = 1 << 33

// readIDX reads one pair of IDX files, gzipped or not: grey images and their labels.
func readIDX(ctx context.Context, imagesPath, labelsPath string) (*records, error) {
	dims, pixels, err := readIDXFile(ctx, imagesPath, idxImages)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", imagesPath, err)
	}
	_, labels, err := readIDXFile(ctx, labelsPath, idxLabels)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", labelsPath, err)
	}
	if len(labels) != dims[0] {
		return nil, fmt.Errorf("dataset: %s holds %d labels, but %s holds %d images", labelsPath, len(labels),
			imagesPath, dims[0])
	}
	r := &records{
		labels: make([]int, len(labels)),
		block:  block{shape: pixel.Shape{Height: dims[1], Width: dims[2], Channels: 1}, pixels: pixels},
	}
	for i, label := range labels {
		r.labels[i] = int(label)
	}
	return r, nil
}

func readIDXFile(ctx context.Context, path string, magic uint32) (dims []int, data []byte, err error) {
	r, closer, err := openPlain(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	defer closer.Close()
	return decodeIDX(r, magic)
}

// decodeIDX reads one IDX stream that must begin with the magic number.
func decodeIDX(r *inflate.Stream, magic uint32) (dims []int, data []byte, err error) {
	var word [4]byte
	next := func() (uint32, error) {
		_, err := io.ReadFull(r, word[:])
		return binary.BigEndian.Uint32(word[:]), err
	}
	got, err := next()
	if err != nil {
		return nil, nil, fmt.Errorf("no IDX header: %w", err)
	}
	if got != magic {
		return nil, nil, fmt.Errorf("IDX magic number is %#08x (%s); expected %#08x (%s)", got, idxKind(got), magic,
			idxKind(magic))
	}
	size := int64(1)
	for range magic & 0xff {
		dim, err := next()
		if err != nil {
			return nil, nil, fmt.Errorf("truncated IDX header: %w", err)
		}
		if dim == 0 {
			return nil, nil, fmt.Errorf("IDX dimensions are %v, 0, …; expected at least 1", dims)
		}
		if size > maxBytes/int64(dim) {
			return nil, nil, fmt.Errorf("IDX dimensions %v, %d, … ask for more than %d bytes", dims, dim,
				int64(maxBytes))
		}
		size *= int64(dim)
		dims = append(dims, int(dim))
	}
	if err := r.Announced("IDX data", size); err != nil {
		return nil, nil, err
	}
	data, err = readExactly(r, size)
	return dims, data, err
}

func idxKind(magic uint32) string {
	switch magic {
	case idxImages:
		return "images"
	case idxLabels:
		return "labels"
	default:
		return "neither images nor labels of bytes"
	}
}
