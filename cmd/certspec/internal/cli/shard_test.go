package cli

import (
	"strings"
	"testing"

	"github.com/certspec/certspec/rs"
)

func TestShardOfAJob(t *testing.T) {
	for _, c := range []struct {
		shard, env string
		want       rs.Shard
		err        string
	}{
		{"0/8", "", rs.Shard{Count: 8}, ""},
		{"7/8", "SLURM_ARRAY_TASK_ID=1", rs.Shard{Index: 7, Count: 8}, ""},
		{"8/8", "", rs.Shard{}, "from 0 to 7"},
		{"-1/8", "", rs.Shard{}, "from 0 to 7"},
		{"1", "", rs.Shard{}, "expected i/n"},
		{"1/0", "", rs.Shard{}, "expected i/n"},
		{"a/8", "", rs.Shard{}, "expected i/n"},
		{"1/8/9", "", rs.Shard{}, "expected i/n"},
		{"auto", "", rs.Shard{}, "is this a member of an array job"},
		{"auto", "SGE_TASK_ID=undefined", rs.Shard{}, "is this a member of an array job"},
		{"auto", "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_MAX=9 SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=8", rs.Shard{Index: 3, Count: 8}, ""},
		{"auto", "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_COUNT=8", rs.Shard{Index: 3, Count: 8}, ""},
		{"auto", "SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=12 SLURM_ARRAY_TASK_STEP=4 SLURM_ARRAY_TASK_COUNT=4", rs.Shard{Index: 2, Count: 4}, ""},
		{"auto", "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=2", rs.Shard{}, "without gaps"},
		{"auto", "SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=2", rs.Shard{}, "without gaps"},
		{"auto", "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=8", rs.Shard{}, "not SLURM_ARRAY_TASK_MIN"},
		{"auto", "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=2", rs.Shard{}, "not SLURM_ARRAY_TASK_COUNT"},
		{"auto", "SLURM_ARRAY_TASK_ID=x SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_COUNT=8", rs.Shard{}, `is "x"`},
		{"auto", "SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_COUNT=8", rs.Shard{}, "do not fit"},
		{"auto", "JOB_COMPLETION_INDEX=3 JOB_COMPLETIONS=5", rs.Shard{Index: 3, Count: 5}, ""},
		{"auto", "JOB_COMPLETION_INDEX=3", rs.Shard{}, "not JOB_COMPLETIONS"},
		{"auto/5", "JOB_COMPLETION_INDEX=3", rs.Shard{Index: 3, Count: 5}, ""},
		{"auto/3", "JOB_COMPLETION_INDEX=3", rs.Shard{}, "do not fit"},
		{"auto", "JOB_COMPLETION_INDEX=5 JOB_COMPLETIONS=5", rs.Shard{}, "do not fit"},
		{"auto", "JOB_COMPLETION_INDEX= JOB_COMPLETIONS=5", rs.Shard{}, "whole number"},
		{"auto", "SGE_TASK_ID=1 SGE_TASK_FIRST=1 SGE_TASK_LAST=9 SGE_TASK_STEPSIZE=2", rs.Shard{Index: 0, Count: 5}, ""},
		{"auto", "SGE_TASK_ID=9 SGE_TASK_FIRST=1 SGE_TASK_LAST=9 SGE_TASK_STEPSIZE=2", rs.Shard{Index: 4, Count: 5}, ""},
		{"auto", "SGE_TASK_ID=8 SGE_TASK_FIRST=1 SGE_TASK_LAST=9 SGE_TASK_STEPSIZE=2", rs.Shard{}, "do not fit"},
		{"auto", "SGE_TASK_ID=8 SGE_TASK_FIRST=1", rs.Shard{}, "not SGE_TASK_LAST"},
		{"auto", "SGE_TASK_ID=1 SGE_TASK_FIRST=1 SGE_TASK_LAST=9 SGE_TASK_STEPSIZE=0", rs.Shard{}, "at least 1"},
		{"auto/1000", "HQ_TASK_ID=0 HQ_JOB_ID=3", rs.Shard{Index: 0, Count: 1000}, ""},
		{"auto/1000", "HQ_TASK_ID=999", rs.Shard{Index: 999, Count: 1000}, ""},
		{"auto/1000", "HQ_TASK_ID=1000", rs.Shard{}, "do not fit"},
		{"auto", "HQ_TASK_ID=7", rs.Shard{}, "auto/n"},
		{"auto/9", "PBS_ARRAY_INDEX=8", rs.Shard{Index: 8, Count: 9}, ""},
		{"auto/9", "PBS_ARRAYID=2", rs.Shard{Index: 2, Count: 9}, ""},
		{"auto", "PBS_ARRAY_INDEX=8", rs.Shard{}, "PBS does not say"},
		{"auto/9", "HQ_TASK_ID=1 SLURM_ARRAY_TASK_ID=1", rs.Shard{}, "both"},
		{"auto", "SGE_TASK_ID=1 JOB_COMPLETION_INDEX=0", rs.Shard{}, "both"},
	} {
		env := func(name string) (string, bool) {
			for _, f := range strings.Fields(c.env) {
				if v, ok := strings.CutPrefix(f, name+"="); ok {
					return v, true
				}
			}
			return "", false
		}
		got, err := readShard(c.shard, env)
		if c.err == "" && (err != nil || got != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("--shard %s with %s: %+v, %v; want %+v, %q", c.shard, c.env, got, err, c.want, c.err)
		}
	}
}
