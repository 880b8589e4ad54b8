package dataset

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	near "github.com/certspec/certspec/internal/nearest"
)

// Open finds a data set by name. It reads no pixels and does not touch the disk.
//
//	fashionmnist/test                a known set and its split, train or test:
//	                                 mnist, fashionmnist, cifar10, cifar100, cifar10-jpeg, synthetic
//	folder:PATH                      pictures, CLASS/PICTURE.png or .jpg, in a folder, a .tar or a .tar.gz;
//	                                 folder:a.tar.gz/train is the folder train of the archive
//	npy:IMAGES.npy,LABELS.npy        NumPy files of uint8 images (N×H×W×C) and N labels; a further
//	                                 ",severity=3" reads one of five blocks, as in CIFAR-C,
//	                                 ",classes=cifar10" takes the class names of a known set
//
// A list in square brackets prepares the images and selects a subset, in the words of the
// canonical names that String gives:
//
//	folder:PATH[resize=256,filter=bicubic,crop=224,channels=rgb,background=white,depth=8,classes=FILE]
//	cifar10/test[skip=20,count=100]
//
// See Preparation, Skip, MaxIndex, Range, Count and Split.
func Open(name string) (*Dataset, error) {
	base, preparation, selections, err := parseName(name)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", name, err)
	}
	b, err := openBase(base)
	if err != nil {
		return nil, fmt.Errorf("dataset: %q: %w", base, err)
	}
	return newDataset(b, selections, nil).Prepare(preparation)
}

const folderPrefix = "folder:"

func openBase(name string) (*base, error) {
	b := &base{name: name, license: "unknown", records: newLazy[records]()}
	if path, ok := strings.CutPrefix(name, folderPrefix); ok {
		if path == "" {
			return nil, errors.New("no path; expected folder:PATH")
		}
		b.read = func(ctx context.Context) (*records, error) { return readFolder(ctx, path, Preparation{}) }
		b.origin = func() (string, error) { return "Pictures in " + path + ".", nil }
		return b, nil
	}
	if text, ok := strings.CutPrefix(name, "npy:"); ok {
		a, err := parseArray(text)
		if err != nil {
			return nil, err
		}
		b.read = a.read
		b.origin = func() (string, error) { return "Arrays in " + a.images + " and " + a.labels + ".", nil }
		return b, nil
	}
	setName, partName, _ := strings.Cut(name, "/")
	s := findSet(setName)
	if s == nil {
		return nil, fmt.Errorf("unknown data set; did you mean %s/test? Known are %s, folder:PATH and npy:IMAGES,LABELS",
			nearest(setName), strings.Join(names(), ", "))
	}
	p, ok := s.part(partName)
	if !ok {
		return nil, fmt.Errorf("no such split; expected %s/train or %s/test", s.name, s.name)
	}
	b.license = s.license
	b.read = func(ctx context.Context) (*records, error) { return s.load(ctx, p) }
	b.origin = func() (string, error) {
		paths, err := s.find(p)
		if err != nil {
			return "", err
		}
		if paths == nil {
			return s.license + ".", nil
		}
		return s.license + "; read from " + strings.Join(paths, " and ") + ".", nil
	}
	return b, nil
}

// nearest is the known name with the fewest edits to the given one.
func nearest(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_ ", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
	return near.Of(name, names())
}

// parseName splits a canonical name such as "mnist/test[resize=32,filter=bicubic,skip=20]".
func parseName(name string) (base string, p Preparation, selections []Selection, err error) {
	body, closed := strings.CutSuffix(name, "]")
	base, list, found := cutLast(body, "[")
	if !closed || !found {
		return name, p, nil, nil
	}
	seen := map[string]bool{}
	for _, text := range strings.Split(list, ",") {
		known, err := p.set(text)
		if key, _, _ := strings.Cut(text, "="); known && seen[key] {
			err = errors.New("it stands there twice")
		} else {
			seen[key] = true
		}
		if !known {
			var s Selection
			s, err = parseSelection(text)
			selections = append(selections, s)
		}
		if err != nil {
			return "", p, nil, fmt.Errorf("%q: %w", text, err)
		}
	}
	return base, p, selections, nil
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

func parseSelection(text string) (Selection, error) {
	key, value, _ := strings.Cut(text, "=")
	fields := strings.Split(value, ":")
	numbers := make([]int, len(fields))
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil && key != "split" {
			return Selection{}, fmt.Errorf("%q is no whole number", field)
		}
		numbers[i] = n
	}
	switch {
	case key == "skip" && len(fields) == 1:
		return Skip(numbers[0]), nil
	case key == "max_index" && len(fields) == 1:
		return MaxIndex(numbers[0]), nil
	case key == "count" && len(fields) == 1:
		return Count(numbers[0]), nil
	case key == "range" && len(fields) == 2:
		return Range(numbers[0], numbers[1]), nil
	case key == "split" && len(fields) == 3:
		fraction, err := strconv.ParseFloat(fields[0], 64)
		seed, err2 := strconv.ParseUint(fields[1], 10, 64)
		if err := errors.Join(err, err2); err != nil {
			return Selection{}, err
		}
		if n := fields[2]; n != "1" && n != "2" {
			return Selection{}, fmt.Errorf("part is %q; expected 1 or 2", n)
		}
		return portion(fraction, seed, numbers[2]), nil
	}
	return Selection{}, errors.New("expected skip=S, count=N, max_index=M, range=FROM:TO or split=FRACTION:SEED:PART, or resize, filter, crop, channels, background, depth or classes")
}
