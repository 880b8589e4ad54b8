package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
)

// hostile is a name that clears the screen, turns text around, begins a line of its own, and has a cell of its own in a table.
const hostile = "x\x1b[2J\x1b]0;t\x07\u009b1m\u202e\x7f\r\nFORGED\tdigest"

// spoken runs a command and gives what it writes on both outputs.
func spoken(t *testing.T, args ...string) (string, int) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stderr := os.Stderr
	os.Stderr = file
	text, code := output(t, args...)
	os.Stderr = stderr
	errs := testkit.Read(t, file.Name())
	return text + string(errs), code
}

func checkSaid(t *testing.T, text string, args []string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && r != '\t' && (!unicode.IsGraphic(r) || r == unicode.ReplacementChar) {
			t.Errorf("%.60q: %q at byte %d: …%.60q", args, r, i, text[max(0, i-30):])
			return
		}
	}
	if at := strings.Index(text, "\nFORGED"); at >= 0 {
		t.Errorf("%.60q: a name begins a line: %.200q", args, text[max(0, at-60):])
	}
	if strings.Contains(text, "FORGED\t") {
		t.Errorf("%.60q: a name has a cell of its own: %.200q", args, text)
	}
}

// Whatever verb is asked for a file of such a name says so without a character that a terminal obeys.
func TestHostileArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		if cmd.HasSubCommands() || cmd.Name() == "lab" || cmd.Name() == "install" {
			return
		}
		verb := strings.Fields(cmd.CommandPath())[1:]
		for _, args := range [][]string{{hostile}, {"--model", hostile, "--data", "folder:" + hostile, "--sigma", "0.25"}, {"--" + hostile}} {
			all := append(verb[:len(verb):len(verb)], args...)
			text, _ := spoken(t, all...)
			checkSaid(t, strings.ReplaceAll(text, "\n  ", " "), all) // an error goes on with lines that are moved in
		}
	})
}

// resealed is a file of lines with another first one, and the digest that then follows.
func resealed(t *testing.T, path, to string, change func(header map[string]any)) string {
	t.Helper()
	text := testkit.Read(t, path)
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	var names map[string]any
	if err := json.Unmarshal(first, &names); err != nil {
		t.Fatal(err)
	}
	change(names)
	line := string(first)
	for _, key := range []string{"program.version", "model.name", "data.name", "rule.budget", "model.identity.engine", "model.identity.engine_version", "set"} {
		var old, now any = json.RawMessage(first), names
		value := map[string]any{}
		json.Unmarshal(first, &value)
		old = value
		for _, k := range strings.Split(key, ".") {
			if m, ok := old.(map[string]any); ok {
				old = m[k]
			}
			if m, ok := now.(map[string]any); ok {
				now = m[k]
			}
		}
		if a, ok := old.(string); ok && a != now {
			last := key[strings.LastIndex(key, ".")+1:]
			line = strings.Replace(line, fmt.Sprintf("%q:%s", last, quoted(t, a)), fmt.Sprintf("%q:%s", last, quoted(t, now)), 1)
		}
	}
	line = strings.Replace(line, `"seed_chosen":false`, `"seed_chosen":true`, 1)
	body := line + "\n" + string(rest)
	if at := strings.LastIndex(body, "\nsha256 "); at >= 0 {
		body = body[:at+1]
		body += fmt.Sprintf("sha256 %x\n", sha256.Sum256([]byte(body)))
	}
	testkit.Write(t, []byte(body), to)
	return to
}

func quoted(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// Names in files: of ledgers, files of package ood, cards, recipes, folders of classes and of experiments, records.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	named := func(header map[string]any) {
		header["program"].(map[string]any)["version"] = hostile
		header["model"].(map[string]any)["name"] = hostile
		header["data"].(map[string]any)["name"] = hostile
		if id, ok := header["model"].(map[string]any)["identity"].(map[string]any); ok {
			id["engine"], id["engine_version"] = hostile, hostile
			header["rule"].(map[string]any)["budget"] = hostile
		}
	}
	whole := resealed(t, shadesOfGrey(t, rs.Shard{}), at("a.ledger"), named)
	other := resealed(t, shadesOfGrey(t, rs.Shard{}), at("b.ledger"), named)
	bounds := resealed(t, "../../notebooks/results/ood/fmnist-plain-uniform.ood", at("bounds.ood"), named)
	attacked := resealed(t, "../../notebooks/results/ood/fmnist-plain-uniform-adv.ood", at("attacked.ood"), named)

	pics := at("pics")
	for _, class := range []string{hostile, "b" + hostile} {
		if err := os.CopyFS(filepath.Join(pics, class), os.DirFS(pictures(t, true, ".", "."))); err != nil {
			t.Fatal(err)
		}
	}
	model := at("net")
	for _, end := range []string{".json", ".safetensors"} {
		text := testkit.Read(t, trainedModel+end)
		if end == ".json" {
			var card map[string]any
			if err := json.Unmarshal(text, &card); err != nil {
				t.Fatal(err)
			}
			card["command"], card["program"], card["backend"] = hostile, hostile, hostile
			card["train"].(map[string]any)["name"], card["classes"].([]any)[0] = hostile, hostile
			text = []byte(quoted(t, card))
		}
		testkit.Write(t, text, model+end)
	}
	records := at("records.jsonl")
	var lines []string
	for i := range 6 {
		lines = append(lines, fmt.Sprintf(`{"model":%s,"labels":{"group":%s,"seed":"1"},"percent":{"cifar10_acc":%d,"cifar10c_acc":%d}}`,
			quoted(t, fmt.Sprint(hostile, i)), quoted(t, fmt.Sprint(hostile, i%2)), 60+4*i, 40+5*i+i%2))
	}
	testkit.Write(t, []byte(strings.Join(lines, "\n")+"\n"), records)
	recipes := at("own.yaml")
	title := quoted(t, hostile)
	testkit.Write(t, []byte("recipes:\n  own/a: {from: A/c10/g, title: "+title+"}\ntables:\n  own: {title: "+title+", rows: [{recipe: own/a}], measure: {radii: [0]}}\n"),
		recipes)
	few := at("few")
	if err := os.CopyFS(few, os.DirFS("../../internal/golden/testdata/first/few")); err != nil {
		t.Fatal(err)
	}
	manifest := testkit.Read(t, few, "manifest.json")
	renamed := bytes.ReplaceAll(manifest, []byte(`"title": "`), []byte(`"title": "`+strings.Trim(title, `"`)))
	if bytes.Equal(renamed, manifest) {
		t.Fatal("no title in the manifest")
	}
	testkit.Write(t, renamed, few, "manifest.json")
	onPics := []string{"--model", model, "--data", "folder:" + pics + "[resize=28x28]", "--engine", "go"}
	on := []string{"--in", records, "--x", "cifar10_acc", "--y", "cifar10c_acc"}
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"ledger", "info", whole}}, {0, []string{"ledger", "info", whole, "--json"}}, {0, []string{"ledger", "verify", whole}},
		{0, []string{"ledger", "export", whole}}, {0, []string{"merge", whole, other, "-o", at("m.ledger")}}, {0, []string{"ledger", "export", "--format", "canonical", whole, "-o", at("c.ledger")}},
		{0, []string{"report", whole, "--format", "md"}}, {0, []string{"report", whole, "--format", "html"}}, {0, []string{"report", whole, "--format", "latex"}},
		{0, []string{"ledger", "metrics", whole}}, {0, []string{"ledger", "metrics", whole, other}}, {0, []string{"ledger", "compare", whole, other}},
		{1, []string{"calib", "certify", "--ledger", whole}}, {0, []string{"plan", "--from", whole}}, {0, []string{"ledger", "verify", bounds}},
		{0, []string{"ood", "auc", "--in", bounds, "--foreign", attacked}}, {1, []string{"merge", bounds, "-o", at("m.ood")}},
		{1, append([]string{"ledger", "replay", whole}, onPics...)}, {1, append([]string{"certify", "--sigma", "0.25", "--n", "100", "--out", whole}, onPics...)},
		{0, append([]string{"certify", "--sigma", "0.25", "--n", "100", "--block", "10", "--n0", "10", "--out", at("new.ledger")}, onPics...)},
		{0, append([]string{"predict", "--sigma", "0.25", "--n", "100"}, onPics...)}, {0, append([]string{"evaluate"}, onPics...)},
		{1, append([]string{"preflight", "--sigma", "0.25", "--n", "100"}, onPics...)},
		{0, []string{"dataset", "list", "folder:" + pics + "[resize=28x28]"}}, {0, []string{"dataset", "list", "folder:" + pics + "[resize=28x28]", "--json"}},
		{1, []string{"dataset", "list", "folder:" + pics}}, {0, []string{"export", "--model", model, "-o", at("net.onnx")}},
		{0, append([]string{"lines", "fit"}, on...)}, {0, append([]string{"lines", "fit", "--influence"}, on...)}, {0, append([]string{"lines", "fit", "--json"}, on...)},
		{2, []string{"experiment", "list", "--add", recipes}}, {0, []string{"experiment", "table", few}}, {0, []string{"experiment", "table", "--left", few}},
	} {
		text, code := spoken(t, c.args...)
		if code != c.code {
			t.Errorf("%.80q: exit code %d: %.600q", c.args, code, text)
		}
		checkSaid(t, text, c.args)
	}
}

// Verbs print what they read by cli.Fprintf, which keeps a name on its line.
func TestVerbsPrintNamesOnTheirLine(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, filepath.Join("internal", "cli")) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, word := range []string{"fmt.Fprintf(", "fmt.Printf(", "fmt.Println(", "os.Stdout", "os.Stderr"} {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s: %s; expected cli.Fprintf or cli.Say", path, word)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
