package dataset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/dataset/internal/fetch"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/pixel"
)

// dataVariable is the environment variable that names the folder of data sets on this machine.
const dataVariable = "CERTSPEC_DATA"

// set is a data set that Open knows by name. It stands in a folder of its own below
// $CERTSPEC_DATA or the cache.
type set struct {
	name    string // as in "fashionmnist/test"
	title   string
	license string
	folder  string
	shape   pixel.Shape
	classes []string
	train   part
	test    part
	trees   bool   // the files of a part are folders
	archive string // a .tar that may stand there in place of the files of both parts
	sources []source
	read    func(ctx context.Context, paths []string, part part) (*records, error)

	// in place of read; by a decoder
	readPictures func(ctx context.Context, paths []string, part part, jpeg string) (*records, error)
}

// part is the train or test split of a set. Its files may also be gzipped.
type part struct {
	name  string
	count int
	files []string
}

// source is a file of the official distribution.
type source struct {
	name string
	file fetch.File
}

func (s *set) part(name string) (part, bool) {
	switch name {
	case "train":
		return s.train, s.train.count > 0
	case "test":
		return s.test, s.test.count > 0
	}
	return part{}, false
}

// load finds and reads a part, and checks that it has the content that its name says.
func (s *set) load(ctx context.Context, p part) (*records, error) {
	paths, err := s.find(p)
	if err != nil {
		return nil, err
	}
	r, err := s.read(ctx, paths, p)
	if err != nil {
		return nil, err
	}
	where := strings.Join(paths, ", ")
	if r.shape != s.shape || len(r.labels) != p.count {
		return nil, fmt.Errorf("dataset: %s: %d images of %v; expected %d of %v for %s/%s",
			where, len(r.labels), r.shape, p.count, s.shape, s.name, p.name)
	}
	if r.classes != nil && s.classes != nil && !slices.Equal(r.classes, s.classes) {
		return nil, fmt.Errorf("dataset: %s: classes %q; expected %q", where, r.classes, s.classes)
	}
	if s.classes != nil {
		r.classes = s.classes
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", where, err)
	}
	return r, nil
}

// find gives the paths of the files of a part, or of the archive: in $CERTSPEC_DATA, else in the cache.
func (s *set) find(p part) ([]string, error) {
	if p.files == nil {
		return nil, nil // built in
	}
	folders, err := s.folders()
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		if paths := findAll(folder, p.files, s.trees); paths != nil {
			return paths, nil
		}
		if s.archive == "" {
			continue
		}
		if paths := findAll(folder, []string{s.archive}, false); paths != nil {
			return paths, nil
		}
	}
	wanted := p.files
	if s.archive != "" {
		wanted = []string{s.archive}
	}
	return nil, &MissingError{Name: s.name + "/" + p.name, Folders: folders, Files: wanted, Official: s.sources != nil}
}

// folders lists where the set may stand.
func (s *set) folders() ([]string, error) {
	var folders []string
	if root := os.Getenv(dataVariable); root != "" {
		folders = append(folders, filepath.Join(root, s.folder))
	}
	cached, err := s.cacheFolder()
	if err == nil {
		folders = append(folders, cached)
	}
	if len(folders) == 0 {
		return nil, err
	}
	return folders, nil
}

// cacheFolder is where Fetch puts the set.
func (s *set) cacheFolder() (string, error) {
	root, err := cache.Dir("data")
	return filepath.Join(root, s.folder), err
}

// findAll gives the path of every file in the folder, plain or gzipped, or of every folder, or nil if one is not there.
func findAll(folder string, files []string, trees bool) []string {
	var paths []string
	for _, file := range files {
		for _, suffix := range []string{"", ".gz"} {
			path := filepath.Join(folder, filepath.FromSlash(file)+suffix)
			if info, err := os.Stat(path); err == nil && (info.Mode().IsRegular() || trees && info.IsDir()) {
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
	Name     string   // e.g. "fashionmnist/test"
	Folders  []string // where they were looked for
	Files    []string // what was looked for; each may also be gzipped
	Official bool     // whether Fetch can download it
}

func (e *MissingError) Error() string {
	name, _, _ := strings.Cut(e.Name, "/")
	help := fmt.Sprintf("set %s to the folder that holds %s", dataVariable, filepath.Base(e.Folders[0]))
	if e.Official {
		help = fmt.Sprintf("certspec dataset fetch %s downloads it, or %s", name, help)
	}
	return fmt.Sprintf("dataset: %s is not on this machine: no %s (or .gz) in %s; %s",
		e.Name, strings.Join(e.Files, " and "), strings.Join(e.Folders, " or "), help)
}
