package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/testkit"
)

var (
	codeSpan    = regexp.MustCompile("`([^`\n]+)`")
	commandLine = regexp.MustCompile(`^\s*(?:[$%!] *|RUN |&& |@|time |nice (?:-n \d+ )?|[A-Z_]+=\S+ )*(?:\S*/)?certspec (\S.*)$`)
	anywhere    = regexp.MustCompile(`\bbin/certspec (\S.*)$`)
	keyed       = regexp.MustCompile(`(?:command|means): (?:&\S+ )?"?(certspec [^"}\n]*)`) // in YAML
	placeholder = regexp.MustCompile(`^[A-Z$<{…]`)
)

// commandLines are those that a text shows: in code spans, in fences, and on lines of their own; sure says that it is no prose.
func commandLines(text string, each func(line string, sure bool)) {
	text = strings.NewReplacer("\\\n", " ", "$(CERTSPEC) ", "bin/certspec ").Replace(text)
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if found := commandLine.FindStringSubmatch(line); found != nil {
			each(found[1], fenced)
		} else if found := anywhere.FindStringSubmatch(line); found != nil && !strings.Contains(line, "`") {
			each(found[1], false)
		}
		for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
			if found := commandLine.FindStringSubmatch(span[1]); found != nil && !fenced {
				each(found[1], true)
			}
		}
	}
}

// textsOf are the texts of a JSON document, lists of lines joined.
func textsOf(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var lines strings.Builder
		for _, one := range v {
			if line, ok := one.(string); ok {
				lines.WriteString(line)
			} else {
				all = append(all, textsOf(one)...)
			}
		}
		return append(all, lines.String())
	case map[string]any:
		for key, one := range v {
			if key != "image/png" && key != "image/svg+xml" && key != "text/html" {
				all = append(all, textsOf(one)...)
			}
		}
	}
	return all
}

// wrongLine says what the program would refuse of a command line on a page, whose values may be placeholders.
func wrongLine(line string) error {
	line, _, _ = strings.Cut(line, " #")
	line = strings.NewReplacer("…", "", "...", "", `\|`, "|", `\"`, `"`, `\n`, "").Replace(line)
	words, err := shellwords.Parse(line)
	if err != nil || len(words) == 0 || placeholder.MatchString(words[0]) {
		return nil // cut off, or about certspec at large
	}
	err = parses(words)
	var value *pflag.InvalidValueError
	if errors.As(err, &value) && placeholder.MatchString(value.GetValue()) {
		return nil
	}
	return err
}

// No page, notebook, Makefile or message names a command or a flag that does not exist.
func TestCommandLinesOfPages(t *testing.T) {
	verbs := []string{}
	for _, cmd := range root().Commands() {
		verbs = append(verbs, cmd.Name())
	}
	lines := 0
	check := func(path, text string) {
		commandLines(text, func(line string, sure bool) {
			if word := strings.Fields(line)[0]; !sure && !slices.Contains(verbs, word) {
				return
			}
			lines++
			if err := wrongLine(line); err != nil {
				t.Errorf("%s: certspec %s: %v", path, line, err)
			}
		})
	}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name != ".." && strings.HasPrefix(name, ".") && name != "../.." && name != ".ci" || name == "out" || name == "bin" || name == "testdata" || name == "reference" {
				return filepath.SkipDir
			}
			return nil
		}
		kind := filepath.Ext(path)
		if !slices.Contains([]string{".md", ".ipynb", ".go", ".py", ".yaml", ".yml", ".sh", ""}, kind) || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		if info, err := d.Info(); err != nil || kind == "" && info.Size() > 1<<20 {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch kind {
		case ".md", "", ".yaml", ".yml", ".sh":
			check(path, keyed.ReplaceAllString(string(data), "\n$1\n"))
		case ".ipynb":
			var book any
			if err := json.Unmarshal(data, &book); err != nil {
				return err
			}
			for _, text := range textsOf(book) {
				check(path, text)
			}
		}
		return nil
	})
	if err != nil || lines < 200 {
		t.Errorf("%d command lines, %v", lines, err)
	}
	for _, bad := range []string{"certify --modle x", "calib exact x", "ledger frob x", "train --epochs=two"} {
		if wrongLine(bad) == nil {
			t.Errorf("certspec %s is taken", bad)
		}
	}
}

var update = flag.Bool("update", false, "write docs/reference/commands.md")

// The page of all commands equals the program's own help.
func TestCommandsPage(t *testing.T) {
	const path = "../../docs/reference/commands.md"
	var table, pages strings.Builder
	table.WriteString("# All commands\n\nWritten by `go test ./cmd/certspec -run CommandsPage -update`. " +
		"[Common tasks](../commands.md) stand on a page of their own. " +
		"Long groups of options stand once, at the first command that has them; `--help` prints them.\n\n| command | what it does |\n| --- | --- |\n")
	const long = 10               // lines of options that stand on the page once
	stands := map[string]string{} // where
	section := func(name, text string) {
		blocks := strings.Split(text, "\n\n")
		for i, b := range blocks {
			if first, found := stands[b]; found {
				blocks[i] = strings.SplitAfter(b, "\n")[0] + "      as of certspec " + first
			} else if strings.Count(b, "\n") >= long {
				stands[b] = name
			}
		}
		fmt.Fprintf(&pages, "\n## certspec %s\n\n```text\n%s```\n", name, strings.Join(blocks, "\n\n"))
	}
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		if name := strings.TrimPrefix(cmd.CommandPath(), "certspec "); !cmd.HasSubCommands() {
			fmt.Fprintf(&table, "| [`%s`](#certspec-%s) | %s |\n", name, strings.ReplaceAll(name, " ", "-"), strings.ReplaceAll(cmd.Short, "|", `\|`))
			section(name, cli.Help(cmd))
		}
	})
	for _, cmd := range root().Commands() {
		if cmd.IsAdditionalHelpTopicCommand() {
			fmt.Fprintf(&table, "| [`help %s`](#certspec-help-%[1]s) | %s |\n", cmd.Name(), cmd.Short)
			section("help "+cmd.Name(), cli.Help(cmd))
		}
	}
	page := table.String() + pages.String()
	if *update {
		testkit.Write(t, []byte(page), path)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != page {
		t.Errorf("%s is not what the program says, %v: run this test with -update", path, err)
	}
}

// The commands of the fourteen cells run as they are typed, one after the other; network, pictures and numbers are small.
func TestCommandsOfCells(t *testing.T) {
	files, err := filepath.Abs("../../notebooks")
	if err != nil {
		t.Fatal(err)
	}
	page := string(testkit.Read(t, "../../docs/cells.md"))
	t.Chdir(t.TempDir())
	for from, to := range map[string]string{"models/fmnist-cnn-s025.json": "net.json",
		"models/fmnist-cnn-s025.safetensors": "net.safetensors", "results": "results"} {
		if err := os.Symlink(filepath.Join(files, from), to); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		var file bytes.Buffer
		picture := image.NewGray(image.Rect(0, 0, 28, 28))
		for k := range picture.Pix {
			picture.Pix[k] = byte(40 + 60*(i%2) + k*(3+i)%90)
		}
		if err := png.Encode(&file, picture); err != nil {
			t.Fatal(err)
		}
		testkit.Write(t, file.Bytes(), "pics", []string{"cat", "dog"}[i%2], fmt.Sprint(i, ".png"))
	}
	small := strings.NewReplacer("net.onnx", "net", "pics[", "pics[channels=grey,", "--data pics ", "--data pics[channels=grey] ",
		"--n 10000", "--n 100", "--n 1000", "--n 100", "--corrupt C ", "--corrupt brightness --severity 1 ", "--window 7", "--window 0",
		"mnist/test[count=200]", "synthetic/test[channels=grey,resize=28x28,count=4]", "cifar10/train[count=5000]",
		"synthetic/train[count=8]", "cifar10/test[count=100]", "synthetic/test[count=2]", "--epochs 3",
		"--epochs 1 --batch 4 --engine go --test 'synthetic/test[count=2]'",
		"--published", "--published --resamples 20", "--on clean,C,C-bar", "--on clean")
	ran := 0
	commandLines(page, func(line string, sure bool) {
		words, err := shellwords.Parse(small.Replace(line))
		if !sure || err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		ran++
		if text, code := output(t, words...); code != 0 {
			t.Errorf("certspec %s ends with %d: %s", line, code, text)
		}
		for _, flag := range []string{"-o", "--out", "--diagram"} {
			if at := slices.Index(words, flag); at >= 0 {
				if found, _ := filepath.Glob(words[at+1] + "*"); len(found) == 0 {
					t.Errorf("certspec %s does not write %s", line, words[at+1])
				}
			}
		}
	})
	if ran != strings.Count(page, "\ncertspec ") || ran < 26 {
		t.Errorf("%d commands ran", ran)
	}
}
