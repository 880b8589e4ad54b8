package examples

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// manifest reads the part of YAML that the manifests are written in: maps and lists by indentation, [a, b], plain text and
// whole numbers. What it does not know is an error, so that it reads nothing otherwise than YAML does.
type manifest struct {
	lines []string
	at    int
}

func readManifest(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	for _, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimRight(line, " "); line != "" && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			m.lines = append(m.lines, line)
		}
	}
	v, err := m.value(0)
	if err != nil || m.at != len(m.lines) {
		t.Fatalf("%s: line %d of its content: %v", file, m.at+1, err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%s is no map", file)
	}
	return object
}

var (
	entry  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]*):(?: (.*))?$`)
	plain  = regexp.MustCompile(`^[A-Za-z0-9/.$(-][^#]*$`)
	inside = regexp.MustCompile(`: |:$|^- `)
)

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// value reads the map or list that begins at the current line with an indentation.
func (m *manifest) value(indent int) (any, error) {
	var list []any
	object := map[string]any{}
	for m.at < len(m.lines) && indentation(m.lines[m.at]) == indent {
		line := m.lines[m.at][indent:]
		if item, ok := strings.CutPrefix(line, "- "); ok {
			if len(object) > 0 {
				return nil, fmt.Errorf("a list item in a map: %q", line)
			}
			if entry.MatchString(item) {
				m.lines[m.at] = strings.Repeat(" ", indent+2) + item // the item is a map
				v, err := m.value(indent + 2)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
				continue
			}
			v, err := scalar(item)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			m.at++
			continue
		}
		field := entry.FindStringSubmatch(line)
		if field == nil || list != nil || object[field[1]] != nil {
			return nil, fmt.Errorf("no new entry of a map: %q", line)
		}
		m.at++
		var v any
		var err error
		if field[2] != "" {
			v, err = scalar(field[2])
		} else if m.at < len(m.lines) && indentation(m.lines[m.at]) > indent {
			v, err = m.value(indentation(m.lines[m.at]))
		} else {
			err = fmt.Errorf("no value: %q", line)
		}
		if err != nil {
			return nil, err
		}
		object[field[1]] = v
	}
	if m.at < len(m.lines) && indentation(m.lines[m.at]) > indent {
		return nil, fmt.Errorf("indentation: %q", m.lines[m.at])
	}
	if list != nil {
		return list, nil
	}
	return object, nil
}

func scalar(text string) (any, error) {
	if items, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(items, "]") {
		var list []any
		for _, item := range strings.Split(strings.TrimSuffix(items, "]"), ", ") {
			v, err := scalar(item)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n, nil
	}
	if !plain.MatchString(text) || inside.MatchString(text) {
		return nil, fmt.Errorf("no plain text: %q", text)
	}
	return text, nil
}

// field follows names and list indices, separated by points.
func field(t *testing.T, object any, path string) any {
	t.Helper()
	for _, name := range strings.Split(path, ".") {
		switch v := object.(type) {
		case map[string]any:
			object = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				t.Fatalf("%s: no item %s", path, name)
			}
			object = v[i]
		default:
			t.Fatalf("%s: %s is of %v", path, name, object)
		}
	}
	return object
}

// What Kubernetes asks of an Indexed Job, and what makes the pods shards that resume: batch/v1 of version 1.33 on.
func TestKubernetesManifests(t *testing.T) {
	job := readManifest(t, "kubernetes/certify-job.yaml")
	const container = "spec.template.spec.containers.0"
	for path, want := range map[string]any{
		"apiVersion":                           "batch/v1",
		"kind":                                 "Job",
		"spec.completionMode":                  "Indexed",
		"spec.template.spec.restartPolicy":     "Never", // which podFailurePolicy and backoffLimitPerIndex need
		"spec.podFailurePolicy.rules.0.action": "Ignore",
		"spec.podFailurePolicy.rules.0.onExitCodes.operator":      "In",
		"spec.podFailurePolicy.rules.0.onExitCodes.values.0":      75,
		"spec.podFailurePolicy.rules.0.onExitCodes.containerName": field(t, job, container+".name"),
		"spec.podFailurePolicy.rules.1.action":                    "Ignore",
		"spec.podFailurePolicy.rules.1.onPodConditions.0.type":    "DisruptionTarget",
		container + ".env.0.valueFrom.fieldRef.fieldPath":         "metadata.annotations['batch.kubernetes.io/job-completion-index']",
		container + ".volumeMounts.0.name":                        field(t, job, "spec.template.spec.volumes.0.name"),
	} {
		if got := field(t, job, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	for _, path := range []string{"spec.completions", "spec.parallelism", "spec.backoffLimitPerIndex", "spec.template.spec.terminationGracePeriodSeconds"} {
		if n, ok := field(t, job, path).(int); !ok || n < 1 {
			t.Errorf("%s is %v", path, field(t, job, path))
		}
	}
	var command []string
	for _, word := range field(t, job, container+".command").([]any) {
		command = append(command, fmt.Sprint(word))
	}
	text := strings.Join(command, " ")
	shard := fmt.Sprintf("--shard=$(%v)/%v", field(t, job, container+".env.0.name"), field(t, job, "spec.completions"))
	if !strings.HasPrefix(text, "certspec certify ") || !strings.Contains(text, shard) || !strings.Contains(text, "/shard-$(SHARD).ledger") {
		t.Errorf("the command is %s, want %s in it", text, shard)
	}

	merge := readManifest(t, "kubernetes/merge-job.yaml")
	script := field(t, merge, container+".command.2")
	if !regexp.MustCompile(`^certspec merge -o (\S+) \S+/shard-\*\.ledger && certspec ledger verify (\S+)$`).MatchString(fmt.Sprint(script)) ||
		field(t, merge, container+".volumeMounts.0.mountPath") != field(t, job, container+".volumeMounts.0.mountPath") ||
		field(t, merge, "spec.template.spec.volumes.0.persistentVolumeClaim.claimName") != field(t, job, "spec.template.spec.volumes.0.persistentVolumeClaim.claimName") {
		t.Errorf("the merge runs %v", script)
	}
}
