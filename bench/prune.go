package main

import (
	"context"
	"fmt"
)

// pruneCases compares training with nine of ten weights zero with dense training, all else the same: without noise and views.
func pruneCases(ctx context.Context, s settings) ([]comparison, error) {
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return nil, err
	}
	var cases []comparison
	for _, net := range s.nets {
		for _, rows := range s.batches {
			dense, err := newTraining(net, "gaussian", rows, s.backend)
			if err != nil {
				return nil, err
			}
			entries := []entry{{"dense", dense}}
			others := []entry{}
			for _, name := range s.methods {
				pruned := *dense
				pruned.prune = name
				entries = append(entries, entry{name, &pruned})
				if name == "edgepopup" || name == "biprop" {
					others = append(others, entry{"PyTorch eager: " + name, pythonWorker(python, scripts, "prune", "eager", work{Task: "train", Net: net, Batch: dense.batch, Method: name})})
				}
			}
			cases = append(cases, comparison{fmt.Sprintf("%s, %d images in a step, sparsity 0.9, one ranking of all weights", net, dense.batch), 1, append(entries, others...)})
		}
	}
	return cases, nil
}
