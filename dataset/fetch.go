package dataset

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/certspec/certspec/dataset/internal/fetch"
	"github.com/certspec/certspec/progress"
)

// Fetch downloads the official files of a known set, e.g. "fashionmnist", into the cache,
// where Open's handles find them, unless $CERTSPEC_DATA has the set. Every file is checked against its published size
// and SHA-256; what is there already is not downloaded again, and an interrupted download goes on.
func Fetch(ctx context.Context, name string, report progress.Reporter) error {
	s := findSet(name)
	if s == nil {
		return fmt.Errorf("dataset: %q: unknown data set; did you mean %s?", name, nearest(name))
	}
	if s.train.files == nil {
		return nil // built in
	}
	if s.sources == nil && s.present() != nil {
		return fmt.Errorf("dataset: %s has no official source; set %s to the folder that holds %s", s.name,
			dataVariable, s.folder)
	}
	cached, err := s.cacheFolder()
	if err != nil {
		return err
	}
	elsewhere := func(p part) bool {
		paths, err := s.find(p)
		return err == nil && !strings.HasPrefix(paths[0], cached)
	}
	if elsewhere(s.train) && elsewhere(s.test) {
		return nil
	}
	for _, source := range s.sources {
		if err := fetch.Get(ctx, source.file, filepath.Join(cached, source.name), report); err != nil {
			return fmt.Errorf("dataset: %s: %w", s.name, err)
		}
	}
	return nil
}

// OpenOrSynthetic opens a split of a known set if both its splits are on this machine,
// else the same split of the built-in synthetic set; Origin then says so in plain words.
// It never downloads: Fetch does.
func OpenOrSynthetic(name string) (*Dataset, error) {
	d, err := Open(name)
	if err != nil {
		return nil, err
	}
	setName, _, _ := strings.Cut(d.base.name, "/")
	s := findSet(setName)
	if s == nil || s.present() == nil {
		return d, nil
	}
	p := d.Preparation()
	p.JPEG = "" // drawn images are not decoded
	stand, err := Open(synthetic.name + strings.TrimPrefix(d.base.name, s.name))
	if err == nil {
		stand, err = stand.Subset(d.selections...).Prepare(p)
	}
	if err != nil {
		return nil, err
	}
	stand.base.origin = func() (string, error) {
		return fmt.Sprintf("Not %s: it is not on this machine, so this is the built-in synthetic set of drawn shapes, "+
			"whose figures say nothing about it (certspec dataset fetch %s gets the real one).", s.title, s.name), nil
	}
	return stand, nil
}

// present is nil if both splits are on this machine.
func (s *set) present() error {
	_, err := s.find(s.train)
	_, err2 := s.find(s.test)
	return errors.Join(err, err2)
}
