package examples

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// One file makes the job of a run and of an experiment: the tasks are done one after the other, the last one merges.
func TestHyperQueueJobs(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS == "windows" {
		t.Skip("no bash")
	}
	dir := t.TempDir()
	certspec := filepath.Join(dir, "certspec") // says what it was asked
	for path, text := range map[string]string{certspec: "#!/bin/sh\necho \"$@\" >>\"$SAID\"\n", filepath.Join(dir, "hq"): "#!/bin/sh\nexit 0\n"} {
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"2", "--model", "a b", "--sigma", "0.25"}, `certify --model a b --sigma 0.25 --shard auto/2 --look OUT/look.json --out OUT/shard-0.ledger
certify --model a b --sigma 0.25 --shard auto/2 --look OUT/look.json --out OUT/shard-1.ledger
merge -o OUT/merged.ledger OUT/shard-*.ledger
ledger verify OUT/merged.ledger
`},
		{[]string{"2", "experiment", "sun2021/table2", "--tier", "T1"}, `experiment run sun2021/table2 --tier T1 --shard 0/2 --out OUT/part-0
experiment run sun2021/table2 --tier T1 --shard 1/2 --out OUT/part-1
merge OUT/part-* --out OUT/merged
`},
	} {
		out := filepath.Join(dir, c.words[1])
		said := out + ".said"
		run := func(name string, args ...string) {
			t.Helper()
			cmd := exec.Command(name, args...)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CERTSPEC_OUT="+out, "CERTSPEC="+certspec, "SAID="+said)
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s %q: %v: %s", name, args, err, text)
			}
		}
		run("bash", append([]string{"hyperqueue/certify.sh"}, c.words...)...)
		job, err := os.ReadFile(filepath.Join(out, "job.toml"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(job)) {
			if list, ok := strings.CutPrefix(strings.TrimSpace(line), "command = "); ok {
				var words []string
				if err := json.Unmarshal([]byte(strings.Replace(list, ", ]", "]", 1)), &words); err != nil {
					t.Fatalf("%v: %s", err, list)
				}
				run(words[0], words[1:]...)
			}
		}
		text, err := os.ReadFile(said)
		if got := strings.ReplaceAll(string(text), out, "OUT"); err != nil || got != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", err, got, c.want)
		}
	}
}
