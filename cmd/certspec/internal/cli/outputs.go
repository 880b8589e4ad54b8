package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkOutputs refuses, before anything is computed, paths that cannot be written to, look mistyped,
// or say a form that is not written.
func checkOutputs(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		kind := f.Annotations[outKey]
		if kind == nil {
			return
		}
		paths := []string{f.Value.String()}
		if several, ok := f.Value.(pflag.SliceValue); ok {
			paths = several.GetSlice()
		}
		for _, path := range paths {
			if err == nil {
				err = checkOutput(f.Name, path, kind[0])
			}
			if err == nil {
				err = checkForm(cmd, f.Name, path, kind[0], kind[1:])
			}
		}
	})
	return err
}

// checkForm refuses a path whose ending says another form than what is written. A form is the name
// that --format has for it, if any, and its endings, as in "latex .tex"; * stands for the endings of
// records, of a form with a name only where --format says it. A name without an ending says nothing,
// and neither does one that ends as a number does.
func checkForm(cmd *cobra.Command, flag, path, kind string, forms []string) error {
	ending := endingOf(path)
	if ending == "" || path == "-" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil // a folder that is there, or a device
	}
	if len(forms) == 0 {
		forms = []string{"*"}
	}
	format := ""
	if f := cmd.Flags().Lookup("format"); f != nil && f.Changed && flag == "out" {
		format = f.Value.String()
	}
	var known []string
	for _, form := range forms {
		words, named := strings.Fields(form), false
		if named = !endsForm(words[0]); named {
			if format != "" && format != words[0] {
				continue
			}
			words = words[1:]
		}
		record := slices.Contains(words, "*") && (format != "" || !named)
		if slices.Contains(words, ending) || record && !slices.Contains(otherForms, ending) {
			return nil
		}
		known = append(known, words...)
	}
	known = slices.DeleteFunc(known, func(word string) bool { return word == "*" })
	says := "expected the path of a " + kind
	if len(known) > 0 {
		says = "expected a name that ends in " + List(known)
	}
	if format != "" {
		return Usagef("--%s %s: --format is %s, and the name says another form; %s", flag, path, format, says)
	}
	return Usagef("--%s %s: %s writes nothing in the form that %s says; %s", flag, path, cmd.CommandPath(), ending, says)
}

// FormatOf is the name of the format whose ending the path of --out has; "": none.
func FormatOf(cmd *cobra.Command, path string) string {
	for _, form := range cmd.Flags().Lookup("out").Annotations[outKey][1:] {
		if words := strings.Fields(form); !endsForm(words[0]) && slices.Contains(words[1:], endingOf(path)) {
			return words[0]
		}
	}
	return ""
}

// endsForm reports whether a word of a form is an ending, and no name.
func endsForm(word string) bool { return word == "*" || strings.HasPrefix(word, ".") }

// endingOf is the ending of a file's name in small letters, without those that are parts of numbers.
func endingOf(path string) string {
	ending := strings.ToLower(filepath.Ext(path))
	if strings.Trim(ending, ".0123456789") == "" || ending == strings.ToLower(filepath.Base(path)) {
		return ""
	}
	return ending
}

// otherForms are endings that promise a form which is none of a record's.
var otherForms = []string{".png", ".pdf", ".svg", ".jpg", ".jpeg", ".gif", ".webp", ".eps", ".ps", ".html", ".htm",
	".tex", ".md", ".csv", ".tsv", ".xlsx", ".ods", ".parquet", ".docx", ".npy", ".npz", ".onnx", ".pt", ".pth", ".zip"}

// checkOutput refuses a folder where a file is wanted and the reverse, a path through a file, and
// folders that would have to be made from the root of the file system, which are mistyped.
func checkOutput(flag, path, kind string) error {
	if path == "" {
		return Usagef("--%s is empty: expected the path of a %s", flag, kind)
	}
	if path == "-" && kind != "folder" {
		return nil
	}
	if info, err := os.Stat(path); err == nil {
		switch {
		case kind == "file" && info.IsDir():
			return Usagef("--%s %s: that is a folder; expected the path of a file", flag, path)
		case kind == "folder" && !info.IsDir():
			return Usagef("--%s %s: that is a file; expected a folder", flag, path)
		}
		return nil
	}
	parent, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for missing := ""; ; missing = parent {
		parent = filepath.Dir(parent)
		info, err := os.Stat(parent)
		switch {
		case err != nil && filepath.Dir(parent) != parent:
			continue
		case err == nil && !info.IsDir():
			return Usagef("--%s %s: %s is a file, not a folder", flag, path, parent)
		case filepath.IsAbs(path) && missing != "" && filepath.Dir(parent) == parent:
			return Usagef("--%s %s: there is no folder %s; make it first, if it is meant", flag, path, missing)
		}
		return nil
	}
}
