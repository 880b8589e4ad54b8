package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A job file that plan writes certifies, task by task; the merged ledger verifies.
func TestPlanOfACluster(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	dir := t.TempDir()
	path := os.Getenv("PATH")
	t.Setenv("PATH", dir+":"+path)
	stub := fmt.Sprintf("#!/bin/sh\nexec '%s' as-program \"$@\"\n", os.Args[0])
	if err := os.WriteFile(filepath.Join(dir, "certspec"), []byte(stub), 0o777); err != nil {
		t.Fatal(err)
	}
	run := func(extra []string, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env, cmd.Dir = append(os.Environ(), extra...), dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
	}
	plan := func(kind, file string) string {
		folder := filepath.Join(dir, "it's "+kind)
		run(nil, "certspec", "plan", "--exec", childModel("means"), "--data", "synthetic/test[count=3]", "--images", "3", "--sigma", "0.25",
			"--n", "200", "--cluster", kind, "--rule", "fixed", "--task-hours", "1e-9", "--ledgers", folder, "--out", file)
		return folder
	}

	file := filepath.Join(dir, "job.sh")
	folder := plan("slurm", file)
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "#SBATCH --array=0-2\n") {
		t.Fatalf("%v: %s", err, text)
	}
	for i := range 3 {
		run([]string{fmt.Sprint("SLURM_ARRAY_TASK_ID=", i), "SLURM_ARRAY_TASK_MIN=0", "SLURM_ARRAY_TASK_MAX=2", "SLURM_ARRAY_TASK_COUNT=3"}, "bash", file)
	}
	_, merge, _ := strings.Cut(string(text), `--wrap "`)
	merge, _, _ = strings.Cut(merge, "\"\n")
	run(nil, "bash", "-c", merge)
	want, err := os.ReadFile(filepath.Join(folder, "merged.ledger"))
	if err != nil {
		t.Fatal(err)
	}

	out, err := exec.Command("certspec", "plan", "--exec", childModel("means"), "--data", "synthetic/test[count=3]", "--images", "3", "--sigma", "0.25",
		"--n", "200", "--cluster", "slurm", "--rule", "fixed", "--task-hours", "1e-9", "--json").Output()
	var planned struct {
		Cluster struct {
			Ledgers int64 `json:"most_ledger_bytes"`
			Scores  int64 `json:"most_scores_bytes"`
		}
	}
	if err := errors.Join(err, json.Unmarshal(out, &planned)); err != nil {
		t.Fatal(err)
	}
	if most := planned.Cluster; most.Ledgers < int64(len(want)) || most.Ledgers > 20*int64(len(want)) || most.Scores < 3*48 || most.Scores > 3*2000 {
		t.Errorf("%+v; the ledger has %d bytes", most, len(want))
	}

	file = filepath.Join(dir, "job.toml")
	folder = plan("hyperqueue", file)
	text, err = os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tasks := 0
	for line := range strings.Lines(string(text)) {
		if list, ok := strings.CutPrefix(line, "command = "); ok {
			var words []string
			if err := json.Unmarshal([]byte(list), &words); err != nil {
				t.Fatal(err)
			}
			run([]string{fmt.Sprint("HQ_TASK_ID=", tasks)}, words[0], words[1:]...)
			tasks++
		}
	}
	if got, err := os.ReadFile(filepath.Join(folder, "merged.ledger")); err != nil || tasks != 4 || string(got) != string(want) {
		t.Errorf("%d tasks, %v: the ledgers differ: %v", tasks, err, string(got) != string(want))
	}

	file = filepath.Join(dir, "job.yaml")
	plan("kubernetes", file)
	if text, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	var job struct {
		Spec struct {
			Completions int
			Template    struct {
				Spec struct{ Containers []struct{ Command []string } }
			}
		}
	}
	if err := yaml.Unmarshal(text, &job); err != nil || job.Spec.Completions != 3 || len(job.Spec.Template.Spec.Containers) != 1 ||
		job.Spec.Template.Spec.Containers[0].Command[1] != "certify" {
		t.Errorf("%v: %+v: %s", err, job, text)
	}
}
