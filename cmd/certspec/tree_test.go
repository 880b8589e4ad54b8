package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/internal/testkit"
)

// walk visits every command but those of cobra, and the one that a script of ours starts.
func walk(t *testing.T, visit func(t *testing.T, cmd *cobra.Command)) {
	var into func(cmd *cobra.Command)
	into = func(cmd *cobra.Command) {
		if cmd.Name() == "help" || cmd.Name() == "completion" || cmd.IsAdditionalHelpTopicCommand() {
			return
		}
		if cmd.Hidden {
			if cmd.CommandPath() != "certspec notebook serve" {
				t.Errorf("%s is hidden", cmd.CommandPath())
			}
			return
		}
		t.Run(strings.ReplaceAll(cmd.CommandPath(), " ", "/"), func(t *testing.T) { visit(t, cmd) })
		for _, sub := range cmd.Commands() {
			into(sub)
		}
	}
	into(root())
}

// flagsOf are the flags of a command, but --help and --version.
func flagsOf(cmd *cobra.Command) (flags []*pflag.Flag) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" {
			flags = append(flags, f)
		}
	})
	return flags
}

// Help of every command prints each flag once, in a group, with no default that says nothing; of many flags five come first.
func TestHelpOfEveryCommand(t *testing.T) {
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		text := cli.Help(cmd)
		for _, bad := range []string{"(default )", "0.000000", "(default [", "%!"} {
			if strings.Contains(text, bad) {
				t.Errorf("help says %q", bad)
			}
		}
		group := ""
		in := map[string][]string{}
		for line := range strings.Lines(text) {
			if heading := regexp.MustCompile(`^([A-Z][a-z ]+):\n`).FindStringSubmatch(line); heading != nil {
				group = heading[1]
			} else if flag := regexp.MustCompile(`^ +(?:-\w, )?--([a-z0-9-]+)`).FindStringSubmatch(line); flag != nil {
				in[flag[1]] = append(in[flag[1]], group)
			}
		}
		shown := 0
		for _, f := range flagsOf(cmd) {
			switch {
			case f.Hidden:
			case len(in[f.Name]) != 1 || in[f.Name][0] == "Examples":
				t.Errorf("--%s stands in %q, want one group", f.Name, in[f.Name])
			default:
				shown++
			}
			if f.Usage == "" {
				t.Errorf("--%s has no words", f.Name)
			}
		}
		first := 0
		for _, groups := range in {
			if groups[0] == "Common flags" {
				first++
			}
		}
		if shown > 10 && first != 5 {
			t.Errorf("%d flags, of which %d are common; want 5", shown, first)
		}
	})
}

// Every flag that names a file or folder to write is checked before a verb begins: a place that takes no file, a file
// that the same command reads, and one that another output names, are refused.
func TestOutputsAreCheckedFirst(t *testing.T) {
	all := root()
	dir := t.TempDir()
	file := filepath.Join(dir, "file.ledger")
	for _, name := range []string{file, filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "model.json")} {
		testkit.Write(t, nil, name)
	}
	places := []string{"/proc/certspec-none", "/proc/certspec-none/deeper"}
	if closed := filepath.Join(dir, "closed"); os.Mkdir(closed, 0o555) == nil && os.Geteuid() != 0 {
		places = append(places, filepath.Join(closed, "file"))
	}
	writes := regexp.MustCompile(`(?i)\bto write\b|\bfile for\b|\bfolder for\b|that records|that keeps|outcomes|folder of the predictions`)
	checked := 0
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		refused := func(want string, args []string, flags ...string) {
			t.Helper()
			fresh, _, err := root().Find(strings.Fields(cmd.CommandPath())[1:])
			if err == nil {
				err = fresh.ParseFlags(flags)
			}
			if err != nil {
				t.Fatal(err)
			}
			err = all.PersistentPreRunE(fresh, args)
			var usage cli.UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v %v: %v; expected %q", flags, args, err, want)
			}
			checked++
		}
		var outputs []*pflag.Flag
		for _, f := range flagsOf(cmd) {
			if cli.IsOutput(f) {
				outputs = append(outputs, f)
			} else if kind := f.Value.Type(); (kind == "string" || kind == "stringArray") && writes.MatchString(f.Usage) {
				t.Errorf("--%s (%s) names a file to write, and is not checked", f.Name, f.Usage)
			}
		}
		for i, f := range outputs {
			for _, place := range places {
				refused("expected a folder that can be written to", nil, "--"+f.Name, place)
			}
			if !cli.WritesFolder(f) {
				refused("would replace", []string{file}, "--"+f.Name, file)
				for _, in := range []string{"in", "model", "start", "ledgers"} {
					if given := cmd.Flags().Lookup(in); given != nil && !cli.IsOutput(given) {
						refused("would replace", nil, "--"+f.Name, file, "--"+in, file)
					}
				}
				refused("would replace", []string{filepath.Join(dir, "model")}, "--"+f.Name, filepath.Join(dir, "model"))
				if cmd.Flags().Lookup("data") != nil {
					refused("would replace", nil, "--"+f.Name, file, "--data", "npy:"+file+",other.npy[count=3]")
				}
			}
			for _, other := range outputs[:i] {
				refused("names the same", nil, "--"+f.Name, filepath.Join(dir, "both"), "--"+other.Name, filepath.Join(dir, "both"))
			}
		}
	})
	if checked < 200 {
		t.Errorf("%d refusals were tried", checked)
	}
}

// -h is one screen: what a command does, examples, the common flags, and where the rest is told.
func TestShortHelp(t *testing.T) {
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		short := cli.ShortHelp(cmd)
		if lines := strings.Count(short, "\n"); lines > 40 {
			t.Errorf("%d lines", lines)
		}
		for line := range strings.Lines(short) {
			if len([]rune(line)) > 121 && !strings.HasPrefix(line, "  certspec ") {
				t.Errorf("a line of %d columns: %s", len([]rune(line)), line)
			}
		}
		if all := cli.Help(cmd); short != all && !strings.Contains(short, cmd.CommandPath()+" --help says more") {
			t.Error("does not say that there is more")
		}
		for _, topic := range regexp.MustCompile(`certspec help (\S+):`).FindAllStringSubmatch(short, -1) {
			for name := range strings.SplitSeq(topic[1], "|") {
				if page, _, err := root().Find([]string{name}); err != nil || !page.IsAdditionalHelpTopicCommand() {
					t.Errorf("there is no topic %s", name)
				}
			}
		}
	})
	for topic, verb := range map[string]string{"data": "evaluate", "model": "predict", "rules": "plan", "output": "calib table"} {
		cmd, _, _ := root().Find(strings.Fields(verb))
		if text := cli.ShortHelp(cmd); !regexp.MustCompile(`certspec help \S*\b` + topic + `\b`).MatchString(text) {
			t.Errorf("%s -h does not name the topic %s: %s", verb, topic, text)
		}
	}
	for _, topic := range []string{"data", "model", "rules", "output"} {
		text, _ := output(t, "help", topic)
		for _, flag := range regexp.MustCompile(`--[a-z][a-z0-9-]+`).FindAllString(text, -1) {
			if !slices.ContainsFunc(root().Commands(), func(cmd *cobra.Command) bool { return cmd.Flags().Lookup(flag[2:]) != nil }) {
				t.Errorf("help %s names %s, which no verb has", topic, flag)
			}
		}
	}
	plan, _, _ := root().Find([]string{"plan"})
	for typed, want := range map[string]string{
		"plan -h": cli.ShortHelp(plan), "plan --help": cli.Help(plan), "help plan": cli.Help(plan), "plan --json -h": cli.ShortHelp(plan),
	} {
		if text, code := output(t, strings.Fields(typed)...); code != 0 || text != want {
			t.Errorf("%s: exit code %d: %s", typed, code, text)
		}
	}
}

// Every flag that takes a value completes it, or says that there is nothing to complete; a word completes to the words of its help.
func TestEveryValueCompletes(t *testing.T) {
	cli.Completing = true
	t.Cleanup(func() { cli.Completing = false })
	words := map[string]string{"rule": "betting", "noise": "gaussian", "engine": "onnxruntime", "net": "resnet20", "corrupt": "fog", "tier": "", "format": "", "data": ""}
	seen := map[string]bool{}
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		for _, f := range flagsOf(cmd) {
			if f.Value.Type() == "bool" {
				continue
			}
			complete, ok := cmd.GetFlagCompletionFunc(f.Name)
			if !ok {
				t.Errorf("--%s has no completion", f.Name)
				continue
			}
			found, directive := complete(cmd, nil, "")
			if word, listed := words[f.Name]; listed {
				seen[f.Name] = true
				if directive&cobra.ShellCompDirectiveNoFileComp == 0 || len(found) < 2 {
					t.Errorf("--%s completes to %q", f.Name, found)
				}
				if word != "" && f.Name != "engine" && f.Name != "rule" && !slices.ContainsFunc(found, func(c cobra.Completion) bool { return c == word }) {
					t.Errorf("--%s completes to %q, without %q", f.Name, found, word)
				}
			}
		}
	})
	for name := range words {
		if !seen[name] {
			t.Errorf("no command has --%s: this test looks for a wrong name", name)
		}
	}
	for typed, want := range map[string]string{
		"certify --rule b": "betting", "train --net resn": "resnet20", "certify --data fashionmnist/te": "fashionmnist/test", "sweep --corrupt fog,fros": "fog,frost",
		"calib worst --mode m": "max", "spectral path --kind amplitude,pi": "amplitude,pixel",
	} {
		text, code := output(t, append([]string{cobra.ShellCompRequestCmd}, strings.Fields(typed)...)...)
		if code != 0 || !strings.Contains("\n"+text, "\n"+want+"\n") {
			t.Errorf("%s completes to %q, want %q", typed, text, want)
		}
	}
}

// One word for one thing: what is written is --out or -o, in every command; a word of before is answered by it.
func TestOneWordForOutputs(t *testing.T) {
	writes := 0
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		for _, f := range flagsOf(cmd) {
			switch f.Name {
			case "out":
				writes++
				if f.Shorthand != "o" {
					t.Error("--out is not -o")
				}
			case "output", "outfile":
				t.Errorf("--%s", f.Name)
			}
		}
	})
	if writes < 20 {
		t.Errorf("%d commands write something: this test looks for the wrong name", writes)
	}
	for typed, says := range map[string]string{
		"certify --ledger x": "unknown flag --ledger; expected --out", "report --output x": "unknown flag --output; expected --out",
		"export --onnx x": "unknown flag --onnx; expected --out", "spectral heatmap --png x": "unknown flag --png; expected --out",
		"certify --input-size 28x28x1": "unknown flag --input-size; expected --shape", "version --output x": "unknown flag --output",
	} {
		cmd, _, stderr := program(t, strings.Fields(typed)...)
		if cmd.Run(); !strings.Contains(stderr.String(), says) {
			t.Errorf("%s: %s", typed, stderr)
		}
	}
}

// Commands that print no numbers, or a text of another form.
var noJSON = []string{"backend install", "dataset fetch", "notebook lab", "notebook slides", "ledger attest"}

func TestNumbersHaveJSON(t *testing.T) {
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), "certspec ")
		if cmd.HasSubCommands() {
			return
		}
		if has := cmd.Flags().Lookup("json") != nil; has == slices.Contains(noJSON, name) {
			t.Errorf("--json: %v", has)
		}
	})
}

// Columns are printed by package cli alone.
func TestOnePrinter(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil || len(files) < 50 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || bytes.Contains(text, []byte("text/tabwriter")) {
			t.Errorf("%s: %v, or prints columns without cli.Columns", file, err)
		}
	}
}

// Every example of a help text is a command line that the program takes.
func TestExamplesParse(t *testing.T) {
	examples := 0
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			if line = strings.TrimSpace(strings.ReplaceAll(line, "...", "")); line == "" {
				continue
			}
			examples++
			words, err := shellwords.Parse(strings.ReplaceAll(line, "out/shard-*", "out/shard-1"))
			if err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			found, rest, err := root().Find(words[1:])
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err != nil || words[0] != "certspec" {
				t.Errorf("%s: %v", line, err)
				continue
			}
			found.Flags().Visit(func(f *pflag.Flag) {
				if f.Name == "data" && f.Value.Type() == "string" {
					if _, err := dataset.Open(f.Value.String()); err != nil && strings.Contains(err.Error(), "unknown data set") {
						t.Errorf("%s: %v", line, err)
					}
				}
			})
		}
	})
	if examples < 30 {
		t.Errorf("%d examples", examples)
	}
}

// What a person mistypes is named as typed, with what was expected and what was probably meant; no field of Go, no package of it.
func TestMessagesOfWrongUse(t *testing.T) {
	certify := []string{"certify", "--exec", "x", "--data", "synthetic/test", "--sigma", "0.25"}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"certfy"}, `unknown command "certfy"; did you mean certify?`},
		{[]string{"ledger", "inof"}, `unknown command "inof"; did you mean info?`},
		{[]string{"certify", "--sgima", "1"}, "unknown flag --sgima; did you mean --sigma?"},
		{[]string{"certify", "-q"}, "unknown flag -q"},
		{[]string{"certify", "--n", "10k"}, "--n 10k: expected a whole number"},
		{[]string{"certify", "--sigma", "a"}, "--sigma a: expected a number"},
		{[]string{"certify", "--seed", "-1"}, "--seed -1: expected a whole number of at least 0"},
		{[]string{"certify", "--radii", "0.1;0.2"}, "--radii 0.1;0.2: expected numbers, as 0.25,0.5"},
		{[]string{"predict", "--image", "a"}, "--image a: expected whole numbers, as 1,2,3"},
		{[]string{"preflight", "--budget", "8"}, "--budget 8: expected a time, as 90s, 5m or 8h"},
		{[]string{"certify", "--rule", "stagd"}, "--rule stagd: expected staged, fixed, iss, betting or anytime; did you mean staged?"},
		{[]string{"sweep", "--noise", "gausian"}, "did you mean gaussian?"},
		{[]string{"certify", "--out"}, "--out has no value"},
		{append(certify, "--sigma", "-1"), "--sigma is -1; expected a positive number"},
		{append(certify, "--n", "150"), "--n is 150 noise samples; expected a multiple of the block"},
		{append(certify, "--futility", "0.1"), "--futility is set, but the rule"},
		{append(certify, "--corrupt", "fogg:3"), "did you mean fog?"},
		{append(certify, "--data", "fashonmnist/test"), "fashionmnist"},
		{[]string{"backend", "install", "onnxruntim"}, "did you mean onnxruntime?"},
		{[]string{"experiment", "list", "table"}, "did you mean tables?"},
		{[]string{"train", "--data", "synthetic", "--out", "x", "--net", "resnet2"}, "resnet20"},
		{[]string{"train", "--data", "synthetic", "--out", "x", "--schedule", "cosin"}, "cosine"},
	} {
		cmd, stdout, stderr := program(t, c.args...)
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitUsage || !strings.Contains(stderr.String(), c.says) || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d: %s; want %q", c.args, code, stderr, c.says)
		}
		if bad := regexp.MustCompile(`strconv|parsing|invalid argument|MaxSamples|\bSigma\b|preflight:|rs:`).FindString(stderr.String()); bad != "" {
			t.Errorf("%q: says %q: %s", c.args, bad, stderr)
		}
	}
}

// parses says what is wrong with the words of a command line, behind certspec.
func parses(words []string) error {
	cmd, rest, err := root().Find(words)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	args := cmd.Flags().Args()
	if cmd.HasSubCommands() && len(args) > 0 {
		return fmt.Errorf("%s has no command %s", cmd.CommandPath(), args[0])
	}
	optional := func(arg string) bool { return strings.HasPrefix(arg, "[") }
	if cmd.Args != nil && len(args) > 0 && !slices.ContainsFunc(args, optional) { // a page may name the verb alone
		return cmd.Args(cmd, args)
	}
	return nil
}

// A path whose folder would have to be made in the root of the file system is mistyped; nothing is computed, and nothing made.
func TestMistypedFolder(t *testing.T) {
	missing := filepath.Join(string(filepath.Separator), "no such folder of certspec", "deep", "x.ledger")
	file := testkit.Write(t, nil, t.TempDir(), "file")
	for says, args := range map[string][]string{
		"there is no folder":    {"certify", "--exec", "x", "--data", "synthetic/test", "--sigma", "0.25", "--out", missing},
		"there is no folder ":   {"sweep", "--exec", "x", "--data", "synthetic/test", "--sigma", "0.25", "--out", filepath.Dir(missing)},
		"that is a folder":      {"ledger", "metrics", oldLedger, "--out", t.TempDir()},
		"is a file, not a fold": {"ledger", "metrics", oldLedger, "--out", filepath.Join(file, "x.md")},
		"that is a file":        {"sweep", "--exec", "x", "--data", "synthetic/test", "--sigma", "0.25", "--out", file},
		"is empty":              {"ledger", "metrics", oldLedger, "--out", ""},
	} {
		cmd, _, stderr := program(t, args...)
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitUsage || !strings.Contains(stderr.String(), says) {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
	}
	if _, err := os.Stat(filepath.Dir(filepath.Dir(missing))); err == nil {
		t.Errorf("%s was made", missing)
	}
	deep := filepath.Join(t.TempDir(), "a", "b", "t.md")
	if _, code := output(t, "ledger", "metrics", oldLedger, "--out", deep); code != 0 {
		t.Errorf("folders that are missing below one that is there: exit code %d", code)
	}
}

// A ledger of another run is told by the first setting that differs, as a flag.
func TestLedgerOfAnotherRun(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "x.ledger")
	args := []string{"certify", "--exec", childModel("good"), "--data", "synthetic/test[max_index=2]", "--sigma", "0.25", "--rule", "fixed", "--n", "200", "--out", ledger}
	if _, code := output(t, args...); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, c := range []struct{ flag, value, says string }{
		{"--sigma", "0.5", "its sigma is 0.25, this run has 0.5"},
		{"--alpha", "0.01", "its alpha is 0.001, this run has 0.01"},
		{"--n", "400", "its largest number of samples is 200, this run has 400"},
		{"--n0", "200", "its selection is 100, this run has 200"},
		{"--rule", "staged", `its rule.name is "fixed", this run has "staged"`},
		{"--noise", "gaussian", "its noise is"},
		{"--seed", "7", "its seed is"},
		{"--data", "synthetic/test[max_index=3]", "its data."},
	} {
		cmd, _, stderr := program(t, append(args, c.flag, c.value)...)
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitFailed || !strings.Contains(stderr.String(), c.says) || !strings.HasSuffix(strings.TrimSpace(stderr.String()), c.flag) {
			t.Errorf("%s %s: exit code %d: %s", c.flag, c.value, code, stderr)
		}
	}
	dir := t.TempDir()
	images, labels := testkit.Sparse(t, filepath.Join(dir, "images.npy"), "|u1", 3, 32, 32, 3), filepath.Join(dir, "labels.npy")
	args[4], args[len(args)-1] = "npy:"+images+","+labels, filepath.Join(dir, "y.ledger")
	for label, want := range []string{"", "y.ledger is of other images or labels"} {
		testkit.Write(t, append(npy.Header{Type: "|u1", Shape: []int{3}}.Append(nil), 0, 0, byte(label)), labels)
		cmd, _, stderr := program(t, args...)
		if err := cmd.Run(); (err == nil) != (want == "") || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: %v: %s", want, err, stderr)
		}
	}
}

func TestVersion(t *testing.T) {
	got := jsonOf(t, "version", "--json")
	if got["version"] == "" || got["system"] == "" {
		t.Errorf("%v", got)
	}
	var out bytes.Buffer
	cmd := root()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"version"})
	if err := cmd.ExecuteContext(context.Background()); err != nil || !strings.HasPrefix(out.String(), "certspec ") {
		t.Errorf("%v: %s", err, &out)
	}
}

// The model that a command works on is its argument, or --model.
func TestModelsAreArguments(t *testing.T) {
	// Those with --model that work on something else.
	others := map[string]bool{"ledger replay": true, "attack": true, "ood smooth": true}
	found := 0
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "certspec ")
		if cmd.Flags().Lookup("model") == nil || others[path] || cmd.HasSubCommands() {
			return
		}
		found++
		if !strings.Contains(cmd.Use, "MODEL") {
			t.Errorf("%s has --model, and its usage %q no MODEL", path, cmd.Use)
			return
		}
		if err := cmd.Args(cmd, []string{"net"}); err != nil || cmd.Flags().Lookup("model").Value.String() != "net" {
			t.Errorf("%s net: %v", path, err)
		}
		if err := cmd.Args(cmd, []string{"net"}); err == nil || !strings.Contains(err.Error(), "one model") {
			t.Errorf("%s net --model net: %v", path, err)
		}
		if err := cmd.Args(cmd, []string{"net", "other"}); err == nil {
			t.Errorf("%s takes two models", path)
		}
	})
	if found < 15 {
		t.Errorf("%d commands with a model", found)
	}
}
