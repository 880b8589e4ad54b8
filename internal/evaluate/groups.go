package evaluate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/internal/textfile"
)

// ReadGroups reads, for each class of the data, the model's classes that stand for it, for
// Options.Groups: a line "CLASS NUMBER..." each.
func ReadGroups(path string, classes []string) ([][]int, error) {
	text, err := textfile.Read(path)
	if err != nil {
		return nil, err
	}
	groups := make([][]int, len(classes))
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		label := slices.Index(classes, fields[0])
		if label < 0 {
			return nil, fmt.Errorf("%s, line %d: the data have no class %q%s", path, number, fields[0],
				nearest.DidYouMean(fields[0], classes))
		}
		if groups[label] != nil || len(fields) < 2 {
			return nil, fmt.Errorf("%s, line %d: %s stands twice, or without a class of the model", path, number,
				fields[0])
		}
		for _, field := range fields[1:] {
			class, err := strconv.Atoi(field)
			if err != nil || class < 0 {
				return nil, fmt.Errorf("%s, line %d: %q is no class of the model, which are numbers from 0", path,
					number, field)
			}
			groups[label] = append(groups[label], class)
		}
	}
	for label, group := range groups {
		if group == nil {
			return nil, fmt.Errorf("%s: no line for the class %s of the data", path, classes[label])
		}
	}
	return groups, nil
}

// ReadFolders reads the folders of a model's classes, a line each, and gives, for each class of the
// data, the class of the model that has its folder; nil where all classes of the model are there,
// in their order.
func ReadFolders(path string, classes []string) ([][]int, error) {
	text, err := textfile.Read(path)
	if err != nil {
		return nil, err
	}
	var folders []string
	for line := range strings.Lines(string(text)) {
		if folder, _, _ := strings.Cut(strings.TrimSpace(line), " "); folder != "" { // a name may follow
			if slices.Contains(folders, folder) {
				return nil, fmt.Errorf("%s: the folder %s stands twice", path, folder)
			}
			folders = append(folders, folder)
		}
	}
	if slices.Equal(folders, classes) {
		return nil, nil
	}
	groups := make([][]int, len(classes))
	for label, folder := range classes {
		class := slices.Index(folders, folder)
		if class < 0 {
			return nil, fmt.Errorf("%s: no class of the model has the folder %s of the data%s", path, folder,
				nearest.DidYouMean(folder, folders))
		}
		groups[label] = []int{class}
	}
	return groups, nil
}
