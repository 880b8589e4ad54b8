package nb

import (
	"errors"
	"fmt"
	"html"
	"os"
	"slices"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/certspec/certspec/dataset"
)

// Data opens the first of some data sets that is on this machine: the name of a set, such as fashionmnist/test, or the
// path of a folder of pictures, an archive of one or a .npy file; [only=cat,count=100] behind it selects images (see
// dataset.Open). If a known set is not on this machine and no other is named, the built-in drawn shapes stand in, and
// the first output of every cell says so. An error ends the cell.
func Data(names ...string) *dataset.Dataset {
	name, err := firstHere(names)
	if err != nil {
		end(err)
		return nil
	}
	d, err := dataset.OpenOrSynthetic(name)
	if err != nil {
		end(err)
		return nil
	}
	if standsIn(d, name) {
		set, _, _ := strings.Cut(name, "/")
		StandIn("Drawn shapes", name, "certspec dataset fetch "+set)
	}
	return d
}

// firstHere is the name, as dataset.Open takes it, of the first set that is on this machine; else the first for which
// drawn shapes can stand in.
func firstHere(names []string) (here string, err error) {
	if len(names) == 0 {
		return "", errors.New("no data named; expected the name of a set, such as fashionmnist/test, or a path")
	}
	var missing []error
	for _, name := range names {
		path, _, _ := strings.Cut(name, "[")
		if _, err := os.Stat(path); err == nil {
			if strings.HasSuffix(path, ".npy") {
				return "npy:" + name, nil
			}
			return "folder:" + name, nil
		}
		d, err := dataset.OpenOrSynthetic(name)
		switch {
		case err != nil:
			missing = append(missing, fmt.Errorf("%w; no file or folder %s is here either", err, path))
		case !standsIn(d, name):
			return name, nil
		case here == "":
			here = name
		}
	}
	if here == "" {
		return "", errors.Join(missing...)
	}
	return here, nil
}

// standsIn reports whether a data set is not the one of that name.
func standsIn(d *dataset.Dataset, name string) bool {
	const drawn = "synthetic/"
	return strings.HasPrefix(d.String(), drawn) && !strings.HasPrefix(name, strings.TrimSuffix(drawn, "/"))
}

// standIn is the class of the note that says that something stands in. certspec notebook run looks for it.
const standIn = "certspec-stand-in"

// standIns are the notes that Show has not shown yet; saidStandIns are all of this cell.
var standIns, saidStandIns []string

// StandIn has the next Show of this cell say that something stands in for the subject of its figures, and how to get
// that. A run at tier paper with such a note is not saved by certspec notebook run.
func StandIn(what, of, remedy string) {
	note := fmt.Sprintf("%s in place of %s, which is not on this machine: the figures say nothing about it. To get "+
		"it: %s", what, of, remedy)
	if !slices.Contains(saidStandIns, note) {
		standIns, saidStandIns = append(standIns, note), append(saidStandIns, note)
	}
}

// sayStandIns shows the notes.
func sayStandIns() {
	for _, note := range standIns {
		display(map[protocol.MIMEType]any{
			protocol.MIMETextPlain: note,
			protocol.MIMETextHTML:  fmt.Sprintf(`<p class="%s"><b>%s</b></p>`, standIn, html.EscapeString(note)),
		})
	}
	standIns = nil
}
