package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/certspec/certspec/internal/atomicfile"
)

// checkOutputs refuses, before anything is computed, paths that cannot be written to, that look mistyped, that are an
// input of the same command, that two outputs share, or that say a form which is not written.
func checkOutputs(cmd *cobra.Command, args []string) (err error) {
	inputs := map[string][]string{"the command": args}
	outputs := map[string]string{} // flag by path
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !IsOutput(f) && f.Name != "name" && f.Name != "names" { // which name no file
			inputs["--"+f.Name] = values(f)
		}
	})
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !IsOutput(f) {
			return
		}
		for _, path := range values(f) {
			if err == nil {
				err = checkOutput(f.Name, path, f.Annotations[outKey][0])
			}
			if err == nil && path != "-" {
				err = checkOverwritten(f.Name, path, inputs)
			}
			whole, e := filepath.Abs(path)
			if err == nil && e == nil && path != "-" {
				if other := outputs[whole]; other != "" {
					err = Usagef("--%s %s: --%s names the same; expected another", f.Name, path, other)
				}
				outputs[whole] = f.Name
			}
			if kind := f.Annotations[outKey]; err == nil {
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

// IsOutput reports whether a flag names a file or folder that its verb writes.
func IsOutput(f *pflag.Flag) bool { return f.Annotations[outKey] != nil }

// WritesFolder reports whether an output is a folder.
func WritesFolder(f *pflag.Flag) bool { return IsOutput(f) && f.Annotations[outKey][0] == "folder" }

// values of a flag; all of them where it may be given several times.
func values(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// checkOutput refuses a folder where a file is wanted and the reverse, a path through a file, folders that would have
// to be made from the root of the file system, which are mistyped, and a place that takes no file.
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
		case info.IsDir():
			return takesFiles(flag, path, path)
		case !info.Mode().IsRegular():
			return nil // a FIFO or a device
		}
		if target, err := filepath.EvalSymlinks(path); err == nil {
			return takesFiles(flag, path, filepath.Dir(target))
		}
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
		return takesFiles(flag, path, parent)
	}
}

// takesFiles refuses a folder in which no file can be made.
func takesFiles(flag, path, folder string) error {
	err := atomicfile.Try(folder)
	if err == nil {
		return nil
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return Usagef("--%s %s: no file can be made in %s (%v); expected a folder that can be written to", flag, path,
		folder, err)
}

// checkOverwritten refuses an output that is a file which the same command reads: a model without its ending, or part
// of the name of a data set, too.
func checkOverwritten(flag, path string, inputs map[string][]string) error {
	endings := []string{"", ".safetensors", ".json"}
	stat := func(path string, regular bool) fs.FileInfo {
		info, err := os.Stat(path)
		if err != nil || regular != info.Mode().IsRegular() {
			return nil
		}
		return info
	}
	for _, ending := range endings {
		out := stat(path+ending, true)
		for by, words := range inputs {
			for _, word := range words {
				parts := strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(":,[]", r) })
				for _, part := range append(slices.Clone(parts), word) {
					for _, end := range endings {
						if in := stat(part+end, true); in != nil && out != nil && os.SameFile(in, out) {
							return Usagef("--%s %s would replace %s, which %s reads; expected another name", flag, path,
								part+end, by)
						}
					}
				}
				folder, found := strings.CutPrefix(word, "folder:")
				folder, _, _ = strings.Cut(folder, "[")
				if in, out := stat(folder, false), stat(path, false); found && in != nil && out != nil && os.SameFile(in, out) {
					return Usagef("--%s %s is the folder of images that %s reads; expected another", flag, path, by)
				}
			}
		}
	}
	return nil
}
