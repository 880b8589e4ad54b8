//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	prettytable "github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/cache"
	ledgerreport "github.com/certspec/certspec/internal/rs/report"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

func init() { extra = append(extra, folderCommand) }

// folderRun is a run from a folder of pictures to a report, in processes of little memory.
type folderRun struct {
	Images  int `json:"images"`
	Classes int `json:"classes"`
	Shards  int `json:"shards"`
	Memory  int `json:"memory_mib"` // of address space, that each process may have
	dir     string
	step    string
	shard   int
}

type folderStep struct {
	Step      string  `json:"step"`
	Processes int     `json:"processes"`
	Seconds   float64 `json:"processor_seconds"`
	Wall      float64 `json:"wall_seconds"`
	Memory    float64 `json:"memory_mib"` // greatest resident memory of one
}

func folderCommand(s *settings) *cobra.Command {
	var r folderRun
	cmd := &cobra.Command{Use: "folder",
		Short: "Certify a folder of generated pictures in shards of little memory, merge, verify, report",
		Args:  cobra.NoArgs}
	f := cmd.Flags()
	f.IntVar(&r.Images, "images", 50_000, "pictures of 224×224")
	f.IntVar(&r.Classes, "classes", 1000, "folders of them")
	f.IntVar(&r.Shards, "shards", 100, "parts of the run")
	f.IntVar(&r.Memory, "memory", 2000, "MiB of address space that each process may have")
	f.StringVar(&r.dir, "dir", "", "folder of the pictures and ledgers (default one that is removed)")
	f.StringVar(&r.step, "step", "", "do one step in this process")
	f.IntVar(&r.shard, "shard", 0, "of the step")
	f.MarkHidden("step")
	f.MarkHidden("shard")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if r.step == "" {
			return r.all(cmd.Context(), *s)
		}
		limit := &syscall.Rlimit{Cur: uint64(r.Memory) << 20, Max: uint64(r.Memory) << 20}
		if err := syscall.Setrlimit(syscall.RLIMIT_AS, limit); err != nil {
			return err
		}
		return r.one(cmd.Context())
	}
	return cmd
}

func (r *folderRun) all(ctx context.Context, s settings) (err error) {
	if r.dir == "" {
		if r.dir, err = os.MkdirTemp("", "certspec-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(r.dir)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	var list []folderStep
	for _, step := range []string{"generate", "digest", "certify", "merge", "verify", "report"} {
		done, began := folderStep{Step: step}, time.Now()
		for shard := range map[bool]int{true: r.Shards, false: 1}[step == "certify"] {
			run := exec.CommandContext(ctx, program, "folder", "--step", step, "--dir", r.dir, "--shard",
				strconv.Itoa(shard),
				"--images", strconv.Itoa(r.Images), "--classes", strconv.Itoa(r.Classes),
				"--shards", strconv.Itoa(r.Shards), "--memory", strconv.Itoa(r.Memory))
			run.Env, run.Stderr = append(os.Environ(), cache.Variable+"="+filepath.Join(r.dir, "cache")), os.Stderr
			if err := run.Run(); err != nil {
				return fmt.Errorf("%s %d: %w", step, shard, err)
			}
			usage := run.ProcessState.SysUsage().(*syscall.Rusage)
			done.Processes++
			done.Seconds += float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
			done.Memory = max(done.Memory, float64(usage.Maxrss)/1024)
		}
		done.Wall = time.Since(began).Seconds()
		fmt.Fprintf(os.Stderr, "%+v\n", done)
		list = append(list, done)
	}
	w := prettytable.NewWriter()
	w.AppendHeader(prettytable.Row{"step", "processes", "processor, s", "wall, s", "memory of one, MiB"})
	for _, one := range list {
		w.AppendRow(prettytable.Row{one.Step, one.Processes, fmt.Sprintf("%.1f", one.Seconds),
			fmt.Sprintf("%.1f", one.Wall),
			fmt.Sprintf("%.0f", one.Memory)})
	}
	return writeMeasured(s, "folder",
		fmt.Sprintf("%d JPEG pictures of 224 × 224 in %d folders, %d shards one after the other, "+
			"each process with at most %d MiB of address space. A model that is a threshold, 4 + 10 noise samples, "+
			"one worker. The merged ledger is verified.", r.Images, r.Classes, r.Shards, r.Memory), w, list)
}

func (r *folderRun) ledger(shard int) string {
	return filepath.Join(r.dir, "parts", fmt.Sprintf("%d.ledger", shard))
}

func (r *folderRun) one(ctx context.Context) error {
	whole := filepath.Join(r.dir, "whole.ledger")
	switch r.step {
	case "generate":
		return r.generate(ctx)
	case "digest":
		d, err := dataset.Open("folder:" + filepath.Join(r.dir, "pictures"))
		if err == nil {
			_, err = d.Index(ctx, nil)
		}
		return err
	case "certify":
		d, err := dataset.Open("folder:" + filepath.Join(r.dir, "pictures"))
		if err != nil {
			return err
		}
		m := classifier.Step{Shape: pixel.Shape{Height: 224, Width: 224, Channels: 3}}
		for i := 1; i < r.Classes; i++ {
			m.Thresholds = append(m.Thresholds, 3*float64(i)/float64(r.Classes)-1)
		}
		_, err = rs.Certify(ctx, m, d, rs.Options{Shard: rs.Shard{Index: r.shard, Count: r.Shards},
			Ledger:  r.ledger(r.shard),
			Workers: 1, Sigma: .25, Rule: rs.Fixed, MaxSamples: 10, Selection: 4, Block: 2})
		return err
	case "merge":
		var parts []string
		for i := range r.Shards {
			parts = append(parts, r.ledger(i))
		}
		m, err := rs.Merge(ctx, whole, parts, false)
		if err == nil && (m.Images != r.Images || !m.Complete) {
			err = fmt.Errorf("merged: %v", m)
		}
		return err
	case "verify":
		v, err := rs.Verify(ctx, whole)
		if err == nil && v.Images != r.Images {
			err = fmt.Errorf("verified: %v", v)
		}
		return err
	}
	_, err := ledgerreport.New(ctx, whole, ledgerreport.Options{})
	return err
}

// generate writes the pictures; every tenth is encoded, and copied nine times with a comment.
func (r *folderRun) generate(ctx context.Context) error {
	im := image.NewRGBA(image.Rect(0, 0, 224, 224))
	var text []byte
	rested := time.Now().Add(-time.Hour) // what was just written is not remembered
	for i := range r.Images {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i%10 == 0 {
			im.Set(i%224, i/224%224, color.RGBA{uint8(i / 10), uint8(i >> 8), 9, 255})
			var b bytes.Buffer
			if err := jpeg.Encode(&b, im, nil); err != nil {
				return err
			}
			text = b.Bytes()
		}
		comment := fmt.Sprintf("%06d", i)
		data := append([]byte{0xff, 0xd8, 0xff, 0xfe, 0, uint8(2 + len(comment))}, comment...)
		path := filepath.Join(r.dir, "pictures", fmt.Sprintf("n%04d", i%r.Classes), comment+".jpg")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		_, err = file.Write(append(data, text[2:]...))
		if closing := file.Close(); err == nil {
			err = closing
		}
		if err == nil {
			err = os.Chtimes(path, rested, rested)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
