package gate

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/textfile"
)

// Grouping says to which group each image of a set belongs.
type Grouping struct {
	By    string   // class, or the column of a file
	Of    []string // group of each image; "": none
	Empty []string // groups without an image that has a label
}

// byClass is By where the groups are classes. The name of such a group begins with the label.
const byClass = "class"

// ByClass groups images by their label.
func ByClass(x *imageset.Index) *Grouping {
	g, used := &Grouping{By: byClass}, make([]bool, len(x.Classes))
	name := func(label int) string { return fmt.Sprint(label, " ", strings.ToValidUTF8(x.Classes[label], "?")) }
	for _, label := range x.Labels {
		if label < 0 {
			g.Of = append(g.Of, "")
			continue
		}
		g.Of, used[label] = append(g.Of, name(label)), true
	}
	for label := range x.Classes {
		if !used[label] {
			g.Empty = append(g.Empty, name(label))
		}
	}
	return g
}

// ByFile groups images by a column of a CSV file, whose column image or idx has the id of each image.
//
// Errors: no such file or column, an id that is no number or stands there twice, an image with a label that has no
// group.
func ByFile(path, column string, x *imageset.Index) (*Grouping, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: expected a CSV file with the columns image and %s", err, column)
	}
	defer file.Close()
	in := textfile.NewCSV(file)
	header, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: expected a header with image or idx, and %s: %w", path, column, err)
	}
	id := slices.IndexFunc(header, func(name string) bool { return name == "image" || name == "idx" })
	at := slices.Index(header, column)
	if id < 0 || at < 0 || slices.Contains(header[at+1:], column) {
		return nil, fmt.Errorf("%s:1: expected a column image or idx, and one column %s (--column); the header has %.40q",
			path, column, header[:min(len(header), 12)])
	}
	g := &Grouping{By: column, Of: make([]string, x.Len())}
	if g.By == byClass { // its groups are of another form
		g.By = "column " + byClass
	}
	known, used, lines := map[string]bool{}, map[string]bool{}, map[int]int{}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		line, _ := in.FieldPos(0)
		image, err := strconv.Atoi(strings.TrimSpace(record[id]))
		name := strings.TrimSpace(record[at])
		switch before, twice := lines[image]; {
		case err != nil:
			return nil, fmt.Errorf("%s:%d: the image %.40q; expected its id, a whole number", path, line, record[id])
		case twice:
			return nil, fmt.Errorf("%s:%d: image %d again; it stands in line %d", path, line, image, before)
		case !utf8.ValidString(name):
			return nil, fmt.Errorf("%s:%d: the group %.40q is no UTF-8", path, line, name)
		}
		lines[image], known[name] = line, true
		if i, found := slices.BinarySearch(x.IDs, image); found {
			g.Of[i], used[name] = name, used[name] || x.Labels[i] >= 0
		}
	}
	for i, name := range g.Of {
		if name == "" && x.Labels[i] >= 0 {
			return nil, fmt.Errorf("%s: no %s for image %d; expected one for each image with a label", path, g.By, x.IDs[i])
		}
	}
	for name := range known {
		if name != "" && !used[name] {
			g.Empty = append(g.Empty, name)
		}
	}
	slices.Sort(g.Empty)
	return g, nil
}

// Groups are those that a record tests.
type Groups struct {
	By     string   `json:"by,omitempty"`     // class, or the column of a file
	Names  []string `json:"names,omitempty"`  // in the order of their first images
	Of     []int    `json:"of,omitempty"`     // group of each labelled image, a place among the names
	Digest string   `json:"digest,omitempty"` // of the other fields
}

func (g *Grouping) groups(places []int) (*Groups, error) {
	all, at := &Groups{By: g.By}, map[string]int{}
	for _, place := range places {
		name := g.Of[place]
		if _, known := at[name]; !known {
			at[name] = len(all.Names)
			all.Names = append(all.Names, name)
		}
		all.Of = append(all.Of, at[name])
	}
	text, err := json.Marshal(all)
	all.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256(text))
	return all, err
}

// Group is where the test of a group ended.
type Group struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Test
	OldCertified int `json:"old_certified"`
	NewCertified int `json:"new_certified"`
}

// family tests groups of images, each by a test of its own; all images are one group where there are no others. A
// change passes if all groups pass, and fails as soon as one group fails.
//
// The order of all images is a random permutation. So that of each group is one, however the groups mix, and the test
// of a group keeps its level at every stop of all. A change that loses too much in a group passes only if this group
// does, with probability at most Level. A group fails if the groups left cannot change it, or by the procedure of Holm
// (1979): p is 1 over the largest wealth of a group so far, and the smallest of the p that are left is compared with
// Level over the number of groups that have not failed. Then some group fails wrongly with probability at most Level.
type family struct {
	level  float64
	groups []*Group
}

func newFamily(names []string, of []int, drop, level float64) (*family, error) {
	f, sizes := &family{level: level}, make([]int, len(names))
	for _, g := range of {
		sizes[g]++
	}
	for g, name := range names {
		t, err := New(sizes[g], drop, level)
		if err != nil {
			return nil, err
		}
		f.groups = append(f.groups, &Group{Name: name, Verdict: Undecided, Test: *t})
	}
	return f, nil
}

// add takes the next difference of a group.
func (f *family) add(group, d int) {
	g, left := f.groups[group], len(f.groups)
	if g.add(d, f.level/float64(left)); g.verdict == Fail {
		for next := f.wealthiest(); next != nil; next = f.wealthiest() {
			if left--; !won(next.most, f.level/float64(left)) {
				break
			}
			next.verdict = Fail
		}
	}
}

// wealthiest is the undecided group of the smallest p; nil: none.
func (f *family) wealthiest() (most *Group) {
	for _, g := range f.groups {
		if g.verdict == Undecided && (most == nil || g.most > most.most) {
			most = g
		}
	}
	return most
}

// verdict is that on the change.
func (f *family) verdict() Verdict {
	all := Pass
	for _, g := range f.groups {
		switch g.verdict {
		case Fail:
			return Fail
		case Undecided:
			all = Undecided
		}
	}
	return all
}
