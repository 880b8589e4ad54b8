package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/flat"
	"github.com/certspec/certspec/internal/host"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// clusterOptions say how a run is split into tasks.
type clusterOptions struct {
	kind   string
	hours  float64
	folder string
	out    string
	rule   rs.Rule
}

// clusterJob is a run on a cluster.
type clusterJob struct {
	Cluster string   `json:"cluster"`
	Rule    rs.Rule  `json:"rule"`
	Shards  int      `json:"shards"`
	Hours   float64  `json:"hours"`      // expected for each shard, on a machine as this one
	Limit   float64  `json:"time_limit"` // in hours
	Memory  int      `json:"memory_mb"`  // for each shard
	Ledgers int64    `json:"most_ledger_bytes"`
	Scores  int64    `json:"most_scores_bytes"` // with --keep-scores
	File    string   `json:"file,omitempty"`
	Words   []string `json:"command"` // of a shard, without its number and ledger
	folder  string
}

func (o *clusterOptions) flags(cmd *cobra.Command) {
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		cli.Choice(f, &o.kind, "cluster", "", "plan the tasks of a cluster, and write its job file: slurm, hyperqueue "+
			"or kubernetes", "slurm", "hyperqueue", "kubernetes")
		f.RuleFlag(&o.rule, rs.Staged, rs.Fixed, rs.ISS, rs.Betting)
		f.Float64Var(&o.hours, "task-hours", 1, "with --cluster: expected time of a task")
		f.Folder(&o.folder, "ledgers", "with --cluster: folder of the ledgers, on every node (default parts)")
		f.Out(&o.out, "with --cluster: the job file")
	})
}

func (o *clusterOptions) check(cmd *cobra.Command) error {
	if o.kind != "" {
		if cmd.Flags().Changed("from") {
			return cli.Usagef("--cluster with --from: a pilot measures time and memory; expected --model and --data")
		}
		if !(o.hours > 0) || math.IsInf(o.hours, 0) {
			return cli.Usagef("--task-hours %g: expected more than 0", o.hours)
		}
		return nil
	}
	for _, name := range []string{"rule", "task-hours", "ledgers", "out"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s without --cluster", name)
		}
	}
	return nil
}

// job splits the run into shards of about the time that was asked for. A task has three times its expected time, and
// memory for the model as the pilot needed it, for the noise samples, and a quarter more.
func (o *clusterOptions) job(cmd *cobra.Command, p *Result) (*clusterJob, error) {
	at := slices.IndexFunc(p.Plans, func(plan preflight.Plan) bool { return plan.Rule == o.rule })
	if at < 0 {
		return nil, cli.Usagef("--rule %s: it is left out: %s", o.rule, strings.Join(p.Omitted, "; "))
	}
	hours := p.Plans[at].Seconds / 3600
	j := &clusterJob{Cluster: o.kind, Rule: o.rule, File: o.out, folder: o.folder}
	j.Shards = int(min(max(1, math.Ceil(hours/o.hours)), float64(p.Images)))
	j.Hours = hours / float64(j.Shards)
	j.Limit = max(.25, math.Ceil(12*j.Hours)/4)
	j.Memory = max(512, int(math.Ceil(1.25*float64(host.Peak()+p.Memory)/(256<<20)))*256)
	if err := j.sizes(p, p.Plans[at]); err != nil {
		return nil, err
	}
	if j.folder == "" {
		j.folder = "parts"
	}
	j.Words = []string{"certspec", "certify"}
	others := []string{"cluster", "task-hours", "ledgers", "out", "images", "json", "rate"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch list, several := f.Value.(pflag.SliceValue); {
		case slices.Contains(others, f.Name) || f.Name == "radii" && o.rule != rs.Betting:
		case several:
			for _, v := range list.GetSlice() {
				j.Words = append(j.Words, "--"+f.Name+"="+v)
			}
		default:
			j.Words = append(j.Words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return j, nil
}

// sizes bounds the bytes of ledgers and scores: every look is made, and counts as many classes and cells as it can.
func (j *clusterJob) sizes(p *Result, of preflight.Plan) error {
	var o rs.Options
	flat.Copy(&o, p.settings)
	if o.Rule, o.MaxSamples = of.Rule, of.MaxSamples; of.Rule == rs.Betting {
		o.Radii = p.radii
	}
	plan, err := o.Plan()
	if err != nil {
		return cli.Usage(err)
	}
	digits := func(n int) int { return len(strconv.Itoa(n)) }
	line := func(samples int) int { // image, label, blocks, misses, class:count …
		counts := min(p.classes, samples)
		return 3*digits(p.Images+p.classes+samples) + 20 + counts*(2+digits(p.classes)+digits(1+samples/counts))
	}
	image, scores, before := line(plan.Selection())+64, 0, 0 // 64 for its claim
	for _, l := range plan.Header().Looks {
		image += line(l.Samples - before)
		scores += 48 + 4*min(2*ledger.MaxScoreCells+1, l.Samples-before)
		before = l.Samples
	}
	header, err := json.Marshal(plan.Header())
	j.Ledgers = int64(p.Images)*int64(image) + int64(j.Shards)*int64(len(header)+2048)
	j.Scores = int64(p.Images) * int64(scores)
	return err
}

// write writes the job file.
func (j *clusterJob) write(stdout io.Writer) error {
	var text strings.Builder
	err := clusterFiles.ExecuteTemplate(&text, j.Cluster, map[string]any{"Job": j, "Words": j.Words, "Folder": j.folder,
		"Last": j.Shards - 1, "Minutes": int(math.Ceil(60 * j.Limit)), "Tasks": slices.Collect(func(yield func(int) bool) {
			for i := 0; i < j.Shards && yield(i); i++ {
			}
		})})
	if err != nil {
		return err
	}
	return atomicfile.To(j.File, stdout, func(w io.Writer) error {
		_, err := io.WriteString(w, text.String())
		return err
	})
}

func (j *clusterJob) print(out io.Writer) {
	cli.Fprintf(out, "\n%d tasks for %s by the rule %s, each about %.2g hours on a machine as this one (limit %.2g) in "+
		"%d MB; ledgers at most %.2g GB, with --keep-scores %.2g GB more", j.Shards, j.Cluster, j.Rule, j.Hours, j.Limit,
		j.Memory, float64(j.Ledgers)/1e9, float64(j.Scores)/1e9)
	if j.File != "" {
		cli.Fprintf(out, ": %s", j.File)
	}
	fmt.Fprintln(out)
}

var clusterFiles = template.Must(template.New("").Funcs(template.FuncMap{
	"shell": func(words []string) string {
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		return strings.Join(quoted, " ")
	},
	"text": func(v any) (string, error) { // a string or a list of them, as TOML, YAML and JSON have them
		text, err := json.Marshal(v)
		return string(text), err
	},
	"list": func(words []string, more ...string) []string { return append(slices.Clone(words), more...) },
	"join": func(folder string) string {
		return fmt.Sprintf(`certspec merge -o '%[1]s/merged.ledger' '%[1]s'/shard-*.ledger && `+
			`certspec ledger verify '%[1]s/merged.ledger'`, strings.ReplaceAll(folder, "'", `'\''`))
	},
}).Parse(`{{define "slurm"}}#!/bin/bash
# Submit it; submit it again where tasks ran out of time: finished shards end at once. Then merge:
#
#   job=$(sbatch --parsable THIS_FILE)
#   sbatch --dependency=afterok:$job --wrap "{{join .Folder}}"

#SBATCH --job-name=certify
#SBATCH --array=0-{{.Last}}
#SBATCH --time={{.Minutes}}
#SBATCH --mem={{.Job.Memory}}M
#SBATCH --ntasks=1
#SBATCH --signal=B:USR1@120
#SBATCH --open-mode=append
#SBATCH --output=certify-%A_%a.log

exec {{shell (list .Words "--shard" "auto" "--look" (printf "%s/look.json" .Folder))}} \
  --out {{shell (list nil (printf "%s/shard-" .Folder))}}$SLURM_ARRAY_TASK_ID.ledger
{{end}}{{define "hyperqueue"}}# hq job submit-file THIS_FILE; the last task merges.
name = "certify"
{{range $i := .Tasks}}
[[task]]
id = {{$i}}
deps = [{{if $i}}0{{end}}]
crash_limit = 20
command = {{text (list $.Words "--shard" (printf "auto/%d" $.Job.Shards) "--look" (printf "%s/look.json" $.Folder) ` +
	`"--out" (printf "%s/shard-%d.ledger" $.Folder $i))}}
{{end}}
[[task]]
id = {{.Job.Shards}}
deps = [{{range $i := .Tasks}}{{if $i}}, {{end}}{{$i}}{{end}}]
command = {{text (list nil "sh" "-c" (join .Folder))}}
{{end}}{{define "kubernetes"}}# Put your image, volume and its path in their places. Then:
#
#   kubectl apply -f THIS_FILE
#   kubectl wait --for=condition=complete --timeout=-1s job/certify
#
# and, where the volume is mounted: {{join .Folder}}
apiVersion: batch/v1
kind: Job
metadata:
  name: certify
spec:
  completionMode: Indexed
  completions: {{.Job.Shards}}
  parallelism: {{.Job.Shards}}
  backoffLimitPerIndex: 3
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 120
      containers:
        - name: certify
          image: registry.example/certspec:latest
          workingDir: /work
          env:
            - name: SHARD
              valueFrom:
                fieldRef:
                  fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']
          command: {{text (list .Words (printf "--shard=$(SHARD)/%d" .Job.Shards) ` +
	`(printf "--look=%s/look.json" .Folder) (printf "--out=%s/shard-$(SHARD).ledger" .Folder))}}
          resources:
            requests:
              memory: {{.Job.Memory}}M
          volumeMounts:
            - name: work
              mountPath: /work
      volumes:
        - name: work
          persistentVolumeClaim:
            claimName: certspec
{{end}}`))
