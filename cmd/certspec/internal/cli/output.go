package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/printable"
)

// Version is the module version, or the commit of a build from a checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}

// PrintJSON writes v, indented, as one JSON document.
func PrintJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// PrintLines writes values as JSON, each on a line of its own.
func PrintLines[T any](w io.Writer, values ...T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// Columns aligns the cells of lines, which tabs separate, to the left.
func Columns(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// Figures is Columns with the cells to the right.
func Figures(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// Fprintf is fmt.Fprintf for text for people: what files and flags say, names above all, stays on its line and moves no
// terminal. Verbs print with it alone.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, printable.Args(args)...)
}

// Say prints a message for the person at the terminal on standard error.
func Say(format string, args ...any) { Fprintf(printable.NewWriter(os.Stderr), format+"\n", args...) }

// textWriter is standard output: text for people, and the way to the bytes below.
type textWriter struct {
	*printable.Writer
	raw io.Writer
}

// Number is the shortest text of a number.
func Number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// WriteOut writes to the file that an output flag names; none, and "-", are standard output, where text is for people.
func WriteOut(cmd *cobra.Command, path string, data []byte) error {
	text := cmd.OutOrStdout()
	bytes := SummaryAside(cmd, path)
	if utf8.Valid(data) {
		bytes = text
	}
	return atomicfile.To(path, bytes, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// SummaryAside lets a verb say what it made on standard error where what it made goes to standard
// output, and gives that for bytes that are not for people.
func SummaryAside(cmd *cobra.Command, path string) (stdout io.Writer) {
	stdout = cmd.OutOrStdout()
	if text, ok := stdout.(*textWriter); ok {
		stdout = text.raw
	}
	if path == "-" {
		cmd.SetOut(cmd.ErrOrStderr())
	}
	return stdout
}

// checkedWriter keeps the first error of writing, which fmt's callers drop. A standard output that
// is closed from the start (">&-") gives none: on Unix Go's runtime opens the null device in its
// place before main, which looks like one that a caller chose.
type checkedWriter struct {
	io.Writer
	err error
}

func (c *checkedWriter) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	if err != nil && c.err == nil {
		c.err = err
	}
	return n, err
}

// WriteCSV writes a CSV file as WriteOut does.
func WriteCSV(cmd *cobra.Command, path string, rows [][]string) error {
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
		return err
	}
	return WriteOut(cmd, path, text.Bytes())
}
