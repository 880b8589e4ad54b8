package main

import (
	"context"
	"fmt"
	"os"

	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/hugepages"
)

// pagesCases compares the settings of glibc's allocator under which certspec's commands run networks with huge pages alone and with glibc's own
// settings, each in a process of its own.
func pagesCases(_ context.Context, s settings) ([]comparison, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var cases []comparison
	for _, net := range s.nets {
		for _, rows := range s.batches {
			for _, c := range []struct {
				title string
				work  work
			}{
				{"training on XLA", work{Task: "train", Net: net, Batch: rows, Method: "gaussian"}},
				{"certification on XLA", work{Task: "certify", Net: net, Batch: rows, Engine: backend.XLA}},
				{"certification on ONNX Runtime", work{Task: "certify", Net: net, Batch: rows, Engine: engine.ONNXRuntime}},
			} {
				one := func(name string, env ...string) entry {
					return entry{name, &worker{command: []string{self, "worker"}, env: env, work: c.work}}
				}
				cases = append(cases, comparison{fmt.Sprintf("%s: %s, batch %d", c.title, net, rows), 1, []entry{
					one("as certspec runs: huge pages, freed memory kept", hugepages.Variable+"=on"),
					one("huge pages alone", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"),
					one(hugepages.Variable+"=off", hugepages.Variable+"=off"),
				}})
			}
		}
	}
	return cases, nil
}
