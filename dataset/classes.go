package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// label gives each picture the class of its folder. Pictures without any folder have
// no label, but may have names of classes.
func (r *records) label(files []string, classFile string) error {
	folders := make([]string, len(files))
	for i, file := range files {
		folders[i] = path.Dir(file)
		if strings.Contains(folders[i], "/") {
			return fmt.Errorf("%s stands more than one folder deep; expected CLASS/PICTURE (is a split such as /train missing from the name?)", file)
		}
	}
	names := inOrder(slices.Compact(slices.Sorted(slices.Values(folders))))
	flat := slices.Equal(names, []string{"."})
	if at := slices.Index(folders, "."); at >= 0 && !flat {
		return fmt.Errorf("%s lies next to class folders; expected CLASS/PICTURE", files[at])
	}
	switch {
	case classFile != "":
		text, err := os.ReadFile(classFile)
		if err == nil {
			r.folders, r.classes, err = parseClasses(string(text))
		}
		if err != nil {
			return fmt.Errorf("file of classes %s: %w", classFile, err)
		}
	case !flat:
		r.classes = names
		r.folders = map[string]int{}
		for i, name := range names {
			r.folders[name] = i
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

// inOrder is the order of classes: folders that are all named by numbers, as those of ImageNet V2, by these, others bytewise.
func inOrder(folders []string) []string {
	for _, name := range folders {
		if n, err := strconv.Atoi(name); err != nil || n < 0 || strings.HasPrefix(name, "+") {
			return folders
		}
	}
	slices.SortFunc(folders, func(a, b string) int {
		m, _ := strconv.Atoi(a)
		n, _ := strconv.Atoi(b)
		return cmp.Or(cmp.Compare(m, n), cmp.Compare(a, b))
	})
	return folders
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
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
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
			return nil, nil, fmt.Errorf("line %d: %.80q; expected a folder, a label and a class name, as in the first line", number, line)
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
