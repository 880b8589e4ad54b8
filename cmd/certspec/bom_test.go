package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// Editors of some systems begin a text with a byte order mark. Whoever reads text reads the same with it as without.
func TestByteOrderMarks(t *testing.T) {
	dir := t.TempDir()
	images := pictures(t, true, "a", "b")
	card := testkit.Read(t, trainedModel+".json")
	weights, err := os.ReadFile(trainedModel + ".safetensors")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "net.safetensors"), weights, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	records := "{\"model\":\"x\",\"labels\":{\"group\":\"a\"},\"percent\":{\"c\":60,\"d\":40}}\n{\"model\":\"y\",\"labels\":{\"group\":\"b\"},\"percent\":{\"c\":70,\"d\":52}}\n" +
		"{\"model\":\"z\",\"labels\":{\"group\":\"a\"},\"percent\":{\"c\":80,\"d\":61}}\n"
	for _, c := range []struct {
		file, text string
		args       []string // @ stands for the file, and # for it without its ending
	}{
		{"net.json", string(card), []string{"export", "--model", "#", "--out", filepath.Join(dir, "out.onnx")}},
		{"log.tsv", publishedLog, []string{"ledger", "metrics", "@"}},
		{"a.csv", "model,c,d\nx,60%,40%\ny,70%,52%\nz,80%,61%\n", []string{"lines", "fit", "--in", "@", "--x", "c", "--y", "d"}},
		{"a.csv", "# comment\nmodel,c,d\nx,60%,40%\ny,70%,52%\nz,80%,61%\n", []string{"lines", "fit", "--influence", "--in", "@", "--x", "c", "--y", "d"}},
		{"a.jsonl", records, []string{"lines", "fit", "--in", "@", "--x", "c", "--y", "d"}},
		{"samples.csv", "correct,confidence\n1,0.75\n0,0.5\n1,0.875\n", []string{"calib", "metrics", "--in", "@"}},
		{"p.csv", "label,p0,p1\n0,0.75,0.25\n1,0.5,0.5\n", []string{"calib", "metrics", "--probabilities", "@"}},
		{"classes.txt", "b\na\n", []string{"dataset", "list", "folder:" + images + "[resize=28x28,classes=@]"}},
		{"own.yaml", "recipes:\n  own/a: {from: A/c10/g, epochs: 3}\n", []string{"experiment", "list", "own/a", "--add", "@"}},
	} {
		path := filepath.Join(dir, c.file)
		for i, arg := range c.args {
			switch {
			case strings.Contains(arg, "@"):
				c.args[i] = strings.ReplaceAll(arg, "@", path)
			case arg == "#":
				c.args[i] = strings.TrimSuffix(path, filepath.Ext(path))
			}
		}
		var texts [2]string
		for i, mark := range []string{"", "\ufeff"} {
			testkit.Write(t, []byte(mark+c.text), path)
			text, code := spoken(t, c.args...)
			if code != 0 {
				t.Errorf("%s with %q in front: exit code %d: %.300s", c.file, mark, code, text)
			}
			texts[i] = text
		}
		if texts[0] != texts[1] {
			t.Errorf("%s: %.300s\nwith the mark\n%.300s", c.args, texts[0], texts[1])
		}
	}
}
