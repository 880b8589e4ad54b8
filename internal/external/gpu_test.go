//go:build external

package external

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The commands that docs/speed.md gives for a GPU, on the CPU: a training is one step, a cell one image, and a benchmark one short turn without other
// software. ResNet-110 is tried by one row.
func TestExternalGPUCommands(t *testing.T) {
	text, err := os.ReadFile("../../docs/speed.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)On a GPU, where one is at hand.*?```\n(.*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatal("docs/speed.md has no commands for a GPU")
	}
	const add = " --add notebooks/results/experiments/one-step.yaml --tier "
	commands := strings.NewReplacer(
		"xla:cuda", "xla:cpu", "backend bench", "backend bench --time 10ms", " --out out/", " --out "+t.TempDir()+"/", " --tier gpu", add+"one-step", " --tier T3", add+"one-step-110",
		"--nets resnet20,resnet110,resnet50", "--nets resnet20 --rounds 1 --turn 50ms --batches 2 --only 'rs.Certify.*xla'",
	).Replace(string(found[1]))
	p := newPage(t)
	if p.dir, err = filepath.Abs("../.."); err != nil {
		t.Fatal(err)
	}
	experiments := 0
	for line := range strings.Lines(commands) {
		if strings.Contains(line, "one-step-110") {
			line = regexp.MustCompile(`--rows \S+`).ReplaceAllString(line, "--rows A/c10/g")
		}
		if strings.Contains(line, add) {
			experiments++
		}
		p.sh(line)
	}
	if experiments != 3 {
		t.Errorf("%d commands of experiments, want 3:\n%s", experiments, commands)
	}
}
