package printable

import (
	"path"
	"strings"
)

// DataName is a short name of a data set for titles and tables: without the folders of a machine, and
// without what chose and prepared the images; a corruption stays. "folder:/home/me/pics[count=100]"
// is pics, "fashionmnist/test[count=500]" is fashionmnist/test.
func DataName(name string) string {
	list := ""
	if body, ok := strings.CutSuffix(name, "]"); ok {
		if i := strings.LastIndexByte(body, '['); i >= 0 {
			name, list = body[:i], body[i+1:]
		}
	}
	short := name
	switch kind, rest, _ := strings.Cut(name, ":"); kind {
	case "folder":
		short = lastOf(rest)
	case "npy":
		images, options, _ := strings.Cut(rest, ",")
		short = strings.TrimSuffix(lastOf(images), ".npy")
		for part := range strings.SplitSeq(options, ",") {
			if severity, ok := strings.CutPrefix(part, "severity="); ok {
				short += ", severity " + severity
			}
		}
	case "npz":
		rest, _, _ = strings.Cut(rest, ".npz[")
		short = strings.TrimSuffix(lastOf(rest), ".npz")
	}
	for part := range strings.SplitSeq(list, ",") {
		if strings.HasPrefix(part, "corrupt=") {
			short += "[" + part + "]"
		}
	}
	return short
}

// DataTitle is DataName of files; the names of known sets stay as they are.
func DataTitle(name string) string {
	if short := DataName(name); !strings.HasPrefix(name, short) {
		return short
	}
	return name
}

// DataSource is the name of a data set without the folders above an absolute path: what a reader
// elsewhere has of it, with what chose and prepared the images. Other names stay.
func DataSource(name string) string {
	base, list, bracket := name, "", ""
	if body, ok := strings.CutSuffix(name, "]"); ok {
		if i := strings.LastIndexByte(body, '['); i >= 0 {
			base, list, bracket = body[:i], body[i:], "]"
		}
	}
	kind, rest, found := strings.Cut(base, ":")
	if !found || kind != "folder" && kind != "npy" && kind != "npz" {
		return name
	}
	parts := strings.Split(rest, ",")
	if kind == "folder" {
		parts = []string{rest}
	}
	for i, part := range parts {
		if strings.HasPrefix(part, "/") || strings.HasPrefix(part, `\\`) || len(part) > 2 && part[1] == ':' {
			parts[i] = lastOf(part)
			if strings.HasSuffix(part, "/") {
				parts[i] += "/"
			}
		}
	}
	return kind + ":" + strings.Join(parts, ",") + list + bracket
}

// lastOf is the last name of a path, with the one before it where that is a part of a set.
func lastOf(file string) string {
	file = path.Clean(strings.ReplaceAll(file, "\\", "/"))
	base := path.Base(file)
	if before := path.Base(path.Dir(file)); before != "." && before != "/" && before != ".." {
		switch base {
		case "train", "test", "val", "valid", "validation":
			return before + "/" + base
		}
	}
	return base
}
