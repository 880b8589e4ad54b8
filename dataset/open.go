package dataset

import (
	"context"
	"fmt"
	"strings"
)

// Open finds a data set by name. It reads no pixels and does not touch the disk.
//
//	mnist/test, fashionmnist/train, cifar10-jpeg/test, …   a known set; "certspec dataset list" names them
//	folder:PATH                                             pictures in a folder or a .tar or .tar.gz, CLASS/PICTURE;
//	                                                        folder:a.tar.gz/train is the folder train of the archive
func Open(name string) (*Dataset, error) {
	if path, ok := strings.CutPrefix(name, "folder:"); ok {
		if path == "" {
			return nil, fmt.Errorf("dataset: %q names no folder; expected folder:PATH", name)
		}
		return newDataset(newBase(name, "unknown", func(ctx context.Context) (*records, error) {
			return readFolder(ctx, path)
		}), nil), nil
	}
	setName, split, _ := strings.Cut(name, "/")
	for _, s := range sets {
		if s.name != setName {
			continue
		}
		if split != "train" && split != "test" {
			return nil, fmt.Errorf("dataset: %q names no split; expected %s/train or %s/test", name, s.name, s.name)
		}
		return newDataset(newBase(name, s.license, func(ctx context.Context) (*records, error) {
			return s.load(ctx, split)
		}), nil), nil
	}
	return nil, fmt.Errorf("dataset: unknown data set %q", name)
}
