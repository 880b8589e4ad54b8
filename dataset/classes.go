package dataset

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/textfile"
)

// label gives each picture the class of its folder. Pictures without any folder have
// no label, but may have names of classes.
func (r *records) label(f *folder, classFile string) error {
	files := f.pictures
	folders := make([]string, len(files))
	for i, file := range files {
		folders[i] = path.Dir(file)
		if strings.Contains(folders[i], "/") {
			return fmt.Errorf("%s stands more than one folder deep; expected CLASS/PICTURE (is a split such as "+
				"/train missing from the name?)", file)
		}
	}
	at := slices.Index(folders, ".")
	flat := at >= 0 && !slices.ContainsFunc(folders, func(name string) bool { return name != "." })
	if at >= 0 && !flat {
		return fmt.Errorf("%s lies next to class folders; expected CLASS/PICTURE", files[at])
	}
	switch {
	case classFile != "":
		text, err := textfile.Read(classFile)
		if err == nil {
			r.folders, r.classes, err = parseClasses(string(text))
		}
		if err != nil {
			return fmt.Errorf("file of classes %s: %w", classFile, err)
		}
	case !flat:
		if err := r.nameClasses(slices.Compact(slices.Sorted(slices.Values(slices.Concat(f.folders,
			folders))))); err != nil {
			return err
		}
	}
	r.labels = make([]int, len(files))
	for i, folder := range folders {
		label, known := r.folders[folder]
		switch {
		case flat:
			label = -1
		case !known:
			return fmt.Errorf("%s: the folder %s is not in the file of classes %s", files[i], folder, classFile)
		}
		r.labels[i] = label
	}
	return nil
}

// nameClasses makes classes of sorted folders: of such that are all named by numbers, as those of
// ImageNet V2, the number is the label; of others the place.
func (r *records) nameClasses(names []string) error {
	r.folders = map[string]int{}
	taken := map[int]string{}
	numbered := !slices.ContainsFunc(names, func(name string) bool { return strings.Trim(name, "0123456789") != "" })
	if !numbered {
		r.classes = names
		for i, name := range names {
			r.folders[name] = i
		}
		return nil
	}
	for _, name := range names {
		label, err := strconv.Atoi(name)
		if err != nil || label > maxLabel {
			return fmt.Errorf("the folder %s is named by a number above %d; expected labels, or a file of classes "+
				"that says them (classes=FILE in the name)", name, maxLabel)
		}
		for len(r.classes) <= label {
			r.classes = append(r.classes, strconv.Itoa(len(r.classes)))
		}
		if other, twice := taken[label]; twice {
			return fmt.Errorf("the folders %s and %s have one number; expected one folder for each label, or a file "+
				"of classes (classes=FILE in the name)", other, name)
		}
		r.folders[name], r.classes[label], taken[label] = label, name, name
	}
	if len(r.classes) > len(names) {
		r.warnings = append(r.warnings,
			fmt.Sprintf("its folders are named by numbers, which are taken as labels: %d of 0 to %d; a file of "+
				"classes (classes=FILE in the name) gives others",
				len(names), len(r.classes)-1))
	}
	return nil
}

// maxLabel bounds the labels of a file of classes.
const maxLabel = 1<<20 - 1

// parseClasses reads which label and class name folders have. A file has one form throughout, that
// of its first line; blank lines are left out:
//
//	FOLDER               the label is the number of folders before, the class name is the folder's
//	FOLDER LABEL NAME    separated by tabs, or by spaces where the folder has none; NAME may have spaces
//
// Several folders may share a label and name. A label below the largest that is not given has its number as name.
func parseClasses(text string) (folders map[string]int, classes []string, err error) {
	folders = map[string]int{}
	named := map[int]string{}
	long := false
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		folder, label, name, isLong := classLine(line)
		if len(folders) == 0 {
			long = isLong
		}
		switch {
		case long && !isLong:
			return nil, nil, fmt.Errorf("line %d: %.80q; expected a folder, a label and a class name, as in the "+
				"first line", number, line)
		case !long:
			folder, label, name = line, len(folders), line
		}
		if strings.Contains(folder, "/") || folder == "." || folder == ".." {
			return nil, nil, fmt.Errorf("line %d: folder %.80q; expected the name of one folder", number, folder)
		}
		if label < 0 || label > maxLabel {
			return nil, nil, fmt.Errorf("line %d: label %d; expected 0 to %d", number, label, maxLabel)
		}
		if _, twice := folders[folder]; twice {
			return nil, nil, fmt.Errorf("line %d: the folder %.80q stands there twice", number, folder)
		}
		if other, twice := named[label]; twice && other != name {
			return nil, nil, fmt.Errorf("line %d: label %d is %.80q, and %.80q before", number, label, name, other)
		}
		folders[folder], named[label] = label, name
	}
	if len(folders) == 0 {
		return nil, nil, errors.New("no classes; expected lines of FOLDER or of FOLDER LABEL NAME")
	}
	classes = make([]string, slices.Max(slices.Collect(maps.Keys(named)))+1)
	for label := range classes {
		name, ok := named[label]
		if !ok {
			name = strconv.Itoa(label)
		}
		classes[label] = name
	}
	return folders, classes, nil
}

// classLine takes a line apart that is of the long form.
func classLine(line string) (folder string, label int, name string, ok bool) {
	cut := func(s string) (string, string) {
		if strings.Contains(line, "\t") {
			before, after, _ := strings.Cut(s, "\t")
			return strings.TrimSpace(before), strings.TrimSpace(after)
		}
		before, after, _ := strings.Cut(s, " ")
		return before, strings.TrimSpace(after)
	}
	folder, rest := cut(line)
	text, name := cut(rest)
	label, err := strconv.Atoi(text)
	return folder, label, name, err == nil && folder != "" && name != ""
}
