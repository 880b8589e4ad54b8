package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	prettytable "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/jupyter"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/progress"
)

type asked struct {
	Name    string `json:"-"`
	Kernel  string `json:"kernel"`
	Kernels string `json:"kernels"` // folder of its specification
	Folder  string `json:"folder"`  // where cells run
	Half    string `json:"half"`    // a word that Tab ends
	Whole   string `json:"whole"`   // one that Shift+Tab explains
	First   string `json:"first"`
	Without string `json:"cell without network"` // %d changes it
	With    string `json:"cell with network"`
	Endless string `json:"endless"` // prints, then waits to be interrupted
}

// kernels are certspec's and that of Python, whose cells do the same with its own libraries.
var kernels = []asked{
	{Name: "certspec", Kernel: jupyter.KernelName, Half: "nb.Sho", Whole: "nb.Show", First: `fmt.Println("first")`,
		Without: "fmt.Println(%d, nb.Must(rs.Open(\"results/quickstart.ledger\")).ACR())",
		With: "network := model.Open(\"models/fmnist-cnn-s025\")\n" +
			"fmt.Println(%d, nb.Must(network.Info()).Classes)",
		Endless: "fmt.Println(\"begins\")\ntime.Sleep(time.Hour)"},
	{Name: "Python (ipykernel, NumPy, PyTorch)", Kernel: "python3", Half: "import numpy as np\nnp.zer",
		Whole: "print", First: `print("first")`,
		Without: "import csv, numpy as np\nrows = [line for line in open(\"results/quickstart.ledger\")]\n" +
			"print(%d, np.mean([len(row) for row in rows]))",
		With: "import torch\nnetwork = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))\n" +
			"print(%d, network(torch.zeros(1, 1, 28, 28)).shape[1])",
		Endless: "import time\nprint(\"begins\", flush=True)\ntime.sleep(1e9)"},
}

// answers are the seconds of each round, by kernel and question.
type answers struct {
	Command string                          `json:"command"`
	Date    string                          `json:"date"`
	Machine machine                         `json:"machine"`
	Load    string                          `json:"load"`
	Rounds  int                             `json:"rounds"`
	Seconds map[string]map[string][]float64 `json:"seconds"`
}

func cellsCommand(s *settings) *cobra.Command {
	return &cobra.Command{Use: "cells", Short: "seconds that a cell, Tab and an interrupt take in Jupyter: " +
		"certspec's kernel and Python's", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return timeCells(cmd.Context(), *s)
	}}
}

func timeCells(ctx context.Context, s settings) error {
	data, err := os.MkdirTemp("", "certspec-cells-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)
	if _, err := jupyter.Install(ctx, data, "", true, progress.Messages(say)); err != nil {
		return err
	}
	torch, scripts, err := pythonSide(ctx)
	if err != nil {
		return err
	}
	python, err := pyenv.Ensure(ctx, pyenv.PyNotebook, progress.Messages(say))
	if err != nil {
		return err
	}
	packages, err := packagesOf(ctx, torch)
	if err != nil {
		return err
	}
	folder, err := filepath.Abs("notebooks")
	if err != nil {
		return err
	}
	a := answers{Command: "go run ./bench " + strings.Join(os.Args[1:], " "),
		Date: time.Now().UTC().Format(time.DateOnly), Machine: thisMachine(), Load: load(), Rounds: s.rounds,
		Seconds: map[string]map[string][]float64{}}
	for range s.rounds {
		for _, one := range kernels {
			one.Kernels, one.Folder = filepath.Join(data, "kernels"), folder
			took, err := one.ask(ctx, python, filepath.Join(scripts, "cells.py"), data, packages)
			if err != nil {
				return fmt.Errorf("%s: %w", one.Name, err)
			}
			if a.Seconds[one.Name] == nil {
				a.Seconds[one.Name] = map[string][]float64{}
			}
			for question, seconds := range took {
				a.Seconds[one.Name][question] = append(a.Seconds[one.Name][question], seconds)
			}
		}
		if s.out == "" {
			s.out = filepath.Join("bench", "results", "cells")
		}
		if err := writeResults(s.out, a, "  ", a.markdown()); err != nil {
			return err
		}
	}
	fmt.Println(a.table().Render())
	fmt.Fprintf(os.Stderr, "written: %s.md and %[1]s.json\n", s.out)
	return nil
}

// ask starts a kernel, and returns the seconds of each question.
func (a asked) ask(ctx context.Context, python, script, data, packages string) (took map[string]float64, err error) {
	request, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, script)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(request), os.Stderr
	cmd.Env = append(os.Environ(), "PYTHONPATH="+packages, "JUPYTER_DATA_DIR="+data,
		"JUPYTER_RUNTIME_DIR="+data+"/runtime", "JUPYTER_CONFIG_DIR="+data+"/config", "IPYTHONDIR="+data)
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	return took, json.Unmarshal(out, &took)
}

func (a answers) table() prettytable.Writer {
	questions := []string{"kernel ready", "first Tab", "later Tab", "Shift+Tab", "first cell",
		"cell without network, first", "cell without network, changed", "cell with network, first",
		"cell with network, changed", "interrupt"}
	w := prettytable.NewWriter()
	w.Style().Format.Header = text.FormatDefault
	header := prettytable.Row{"seconds, median (least to greatest)"}
	for _, kernel := range kernels {
		header = append(header, kernel.Name)
	}
	w.AppendHeader(header)
	for _, question := range questions {
		line := prettytable.Row{question}
		for _, kernel := range kernels {
			seconds := slices.Sorted(slices.Values(a.Seconds[kernel.Name][question]))
			line = append(line, fmt.Sprintf("%.2f (%.2f to %.2f)", seconds[len(seconds)/2], seconds[0],
				seconds[len(seconds)-1]))
		}
		w.AppendRow(line)
	}
	return w
}

func (a answers) markdown() []byte {
	return fmt.Appendf(nil, "# Benchmark: cells\n\nMade by `%s` on %s.\n\n%v.\n\nLoad average when it began: %s.\n\n"+
		"The kernels take turns, %d rounds; each starts anew. First cells compile or import what they need. "+
		"A cell without a network reads results/quickstart.ledger: certspec derives its claims, Python counts its "+
		"characters. A cell with one opens a small CNN in certspec, and asks one layer of PyTorch.\n\n%s\n",
		a.Command, a.Date, a.Machine, a.Load, a.Rounds, a.table().RenderMarkdown())
}
