package cli

import (
	"os"
	"strconv"
	"strings"

	"github.com/certspec/certspec/rs"
)

// ReadShard reads the value of --shard: i/n, or auto and auto/n, which ask the environment of a job.
func ReadShard(text string) (rs.Shard, error) { return readShard(text, os.LookupEnv) }

func readShard(text string, env func(string) (string, bool)) (rs.Shard, error) {
	left, right, split := strings.Cut(text, "/")
	count, err := strconv.Atoi(right)
	switch {
	case split && (err != nil || count < 1):
		return rs.Shard{}, Usagef("--shard %s: expected i/n, auto or auto/n, e.g. 0/8", text)
	case left == "auto":
		index, found, err := shardOfJob(env, count)
		return rs.Shard{Index: index, Count: found}, err
	}
	index, err := strconv.Atoi(left)
	if !split || err != nil {
		return rs.Shard{}, Usagef("--shard %s: expected i/n, auto or auto/n, e.g. 0/8", text)
	}
	if index < 0 || index >= count {
		return rs.Shard{}, Usagef("--shard %s: expected an i from 0 to %d", text, count-1)
	}
	return rs.Shard{Index: index, Count: count}, nil
}

// schedulers tell each member of an array job its number and, mostly, where the numbers begin, end
// and step.
var schedulers = []struct{ name, id, first, last, step, count string }{
	{"Slurm", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP",
		"SLURM_ARRAY_TASK_COUNT"},
	{"Kubernetes", "JOB_COMPLETION_INDEX", "", "", "", "JOB_COMPLETIONS"},
	{"Grid Engine", "SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE", ""},
	{"HyperQueue", "HQ_TASK_ID", "", "", "", ""},
	{"PBS", "PBS_ARRAY_INDEX", "", "", "", ""},
	{"Torque", "PBS_ARRAYID", "", "", "", ""},
}

// shardOfJob reads the place in an array job; count is the number of members that the user names, or 0. Nothing
// is guessed: a member that did the whole run by mistake would waste the whole cluster.
func shardOfJob(env func(string) (string, bool), count int) (index, of int, err error) {
	at := -1
	for i, s := range schedulers {
		if v, ok := env(s.id); ok && v != "undefined" { // Grid Engine's word for a job that is no array
			if at >= 0 {
				return 0, 0, Usagef("--shard auto: both %s and %s are set; expected one scheduler, or give --shard i/n",
					schedulers[at].id, s.id)
			}
			at = i
		}
	}
	if at < 0 {
		var ids []string
		for _, s := range schedulers {
			ids = append(ids, s.id)
		}
		return 0, 0, Usagef("--shard auto: expected one of %s in the environment: is this a member of an array job?",
			strings.Join(ids, ", "))
	}
	s := schedulers[at]
	if s.last == "" && s.count == "" && count == 0 {
		return 0, 0, Usagef("--shard auto: %s does not say how many tasks there are; expected --shard auto/n, with "+
			"tasks numbered from 0", s.name)
	}
	number := func(name string, otherwise int) int {
		text, ok := env(name)
		if name == "" || !ok {
			if otherwise < 0 && err == nil {
				err = Usagef("--shard auto: %s is set, but not %s, expected both; or give --shard auto/n", s.id, name)
			}
			return otherwise
		}
		v, failed := strconv.Atoi(text)
		if (failed != nil || v < 0) && err == nil {
			err = Usagef("--shard auto: %s is %.40q, expected a whole number", name, text)
		}
		return v
	}
	id, first, step := number(s.id, -1), 0, 1
	if s.first != "" {
		missing := -1
		if count > 0 {
			missing = 0
		}
		first, step = number(s.first, missing), number(s.step, 1)
	}
	if err != nil {
		return 0, 0, err
	}
	if step < 1 {
		return 0, 0, Usagef("--shard auto: %s is %d, expected at least 1", s.step, step)
	}
	if of = count; of == 0 {
		if s.count != "" {
			of = number(s.count, -1)
		} else {
			of = (number(s.last, -1)-first)/step + 1
		}
	}
	last := number(s.last, first+(of-1)*step)
	if s.last == "" {
		last = first + (of-1)*step
	}
	index = (id - first) / step
	switch {
	case err != nil:
		return 0, 0, err
	case of < 1 || index < 0 || index >= of || first+index*step != id || count == 0 && (last-first)/step+1 != of:
		return 0, 0, Usagef("--shard auto: %s says number %d of %d, from %d to %d in steps of %d, which do not fit "+
			"together; expected an array without gaps, or give --shard i/n",
			s.name, id, of, first, last, step)
	}
	return index, of, nil
}
