package tier

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/certspec/certspec/rs/sweep"
)

// ImageNet is the kind of data whose corrupted images are pictures in folders
// FOLDER/CORRUPTION/SEVERITY/CLASS, of 224×224 pixels.
const ImageNet = "imagenet"

// ImageNetCell names the pictures of a cell of the published files.
func ImageNetCell(folder string, c sweep.Cell) string {
	return fmt.Sprintf("folder:%s[crop=224,channels=rgb]", filepath.Join(folder, c.Corruption, fmt.Sprint(c.Severity)))
}

// Kinds of places that are files of classes.
const (
	GroupsSuffix  = "-groups"
	ClassesSuffix = "-classes"
)

// CIFAROf says whose classes a kind of data has: "cifar10" of cifar10 and cifar10-…, "cifar100" likewise; "" of others.
func CIFAROf(kind string) string {
	if name, _, _ := strings.Cut(kind, "-"); name == "cifar10" || name == "cifar100" {
		return name
	}
	return ""
}

// OfficialSuffix makes the kind of the files of corrupted images that others published, as in
// cifar10-c. There are none of CIFAR-F.
const OfficialSuffix = "-c"

// Select adds a selection to the name of a data set.
func Select(name, selection string) string {
	if selection == "" {
		return name
	}
	if body, found := strings.CutSuffix(name, "]"); found {
		return body + "," + selection + "]"
	}
	return name + "[" + selection + "]"
}

// CutSelection takes the last list off the name of a data set.
func CutSelection(name string) (base, selection string) {
	if i := strings.LastIndex(name, "["); i >= 0 && strings.HasSuffix(name, "]") {
		return name[:i], name[i+1 : len(name)-1]
	}
	return name, ""
}
