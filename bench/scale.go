//go:build unix

package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	prettytable "github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/query"
	ledgerreport "github.com/certspec/certspec/internal/rs/report"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/ledger"
)

func init() { extra = append(extra, scaleCommand) }

// scaled is the cost of a work at one size, in a process of its own.
type scaled struct {
	Work    string  `json:"work"`
	Size    int     `json:"size"`
	Seconds float64 `json:"processor_seconds"`
	Memory  float64 `json:"memory_mib"` // greatest resident memory
}

// scaleWork is a work whose cost is to grow no faster than its size.
type scaleWork struct {
	name    string
	sizes   []int
	prepare func(ctx context.Context, dir string, size int) error // in another process
	run     func(ctx context.Context, dir string, size int) error
}

var scaleWorks = []scaleWork{
	{"certify images", []int{1e3, 1e4, 1e5}, nothing, writeLedger},
	{"verify images", []int{1e4, 1e5, 1e6}, writeLedger, func(ctx context.Context, dir string, _ int) error {
		_, err := rs.Verify(ctx, filepath.Join(dir, "run.ledger"))
		return err
	}},
	{"report images", []int{1e4, 1e5, 1e6}, writeLedger, func(ctx context.Context, dir string, _ int) error {
		_, err := ledgerreport.New(ctx, filepath.Join(dir, "run.ledger"), ledgerreport.Options{})
		return err
	}},
	{"compare images", []int{1e3, 1e4, 1e5}, writeLedger, func(ctx context.Context, dir string, _ int) error {
		run, err := rs.Open(filepath.Join(dir, "run.ledger"))
		if err != nil {
			return err
		}
		of := compare.Of(run.Vectors())
		_, err = compare.Runs(ctx, of, of, []float64{0, .25}, resample.Options{})
		return err
	}},
	{"top-2 claims of images", []int{1e4, 1e5, 1e6}, writeLedger, func(ctx context.Context, dir string, _ int) error {
		_, err := query.Ask(ctx, filepath.Join(dir, "run.ledger"), query.Question{TopK: 2})
		return err
	}},
	{"verify 100 images of classes", []int{10, 100, 1000, 10000}, writeClasses, func(ctx context.Context, dir string,
		_ int) error {
		_, err := rs.Verify(ctx, filepath.Join(dir, "run.ledger"))
		return err
	}},
	{"bound an image of classes", []int{10, 100, 1000, 10000}, nothing, boundClasses},
	{"merge shards of 10 images", []int{10, 100, 1000}, writeShards, mergeShards},
	{"digest of pictures", []int{1e2, 1e3, 1e4}, writePictures, openPictures},
	{"first picture, digest known", []int{1e2, 1e3, 1e4}, func(ctx context.Context, dir string, size int) error {
		if err := writePictures(ctx, dir, size); err != nil {
			return err
		}
		return openPictures(ctx, dir, size)
	}, openPictures},
}

func nothing(context.Context, string, int) error { return nil }

// tiny are images of one pixel.
type tiny int

func (n tiny) Load(context.Context) (*imageset.Images, error) {
	im := &imageset.Images{Name: "tiny", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: []string{"0",
		"1", "2"}}
	for i := range int(n) {
		im.IDs, im.Labels, im.Pixels = append(im.IDs, i), append(im.Labels, i%3), append(im.Pixels, uint8(i%256))
	}
	im.Digest = im.ContentDigest()
	return im, nil
}

func certifyTiny(ctx context.Context, path string, images int, shard rs.Shard) error {
	step := classifier.Step{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Thresholds: []float64{.3, .6}}
	_, err := rs.Certify(ctx, step, tiny(images), rs.Options{Shard: shard, Ledger: path,
		Sigma: .25, Rule: rs.Fixed, MaxSamples: 100})
	return err
}

func writeLedger(ctx context.Context, dir string, size int) error {
	return certifyTiny(ctx, filepath.Join(dir, "run.ledger"), size, rs.Shard{})
}

func writeShards(ctx context.Context, dir string, shards int) error {
	for i := range shards {
		path := filepath.Join(dir, fmt.Sprintf("part-%d.ledger", i))
		if err := certifyTiny(ctx, path, 10*shards, rs.Shard{Index: i, Count: shards}); err != nil {
			return err
		}
	}
	return nil
}

func mergeShards(ctx context.Context, dir string, _ int) error {
	parts, err := filepath.Glob(filepath.Join(dir, "part-*.ledger"))
	if err != nil {
		return err
	}
	_, err = rs.Merge(ctx, filepath.Join(dir, "whole.ledger"), parts, false)
	return err
}

// writeClasses writes a ledger in which every class of each of 100 images has a count.
func writeClasses(ctx context.Context, dir string, classes int) error {
	o := rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 10 * classes, Seed: 1,
		Ledger: filepath.Join(dir, "first.ledger")}
	step := classifier.Step{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Thresholds: []float64{.3, .6}}
	run, err := rs.Certify(ctx, step, tiny(1), o)
	if err != nil {
		return err
	}
	h := run.Header
	h.Data.Images, h.Model.Classes = 100, classes
	plan, err := stopping.Of(h)
	if err != nil {
		return err
	}
	counts := make([]ledger.Count, classes)
	for i := range counts {
		counts[i] = ledger.Count{Class: int32(i), N: 1}
	}
	counts[1].N += 9 * classes
	first := plan.Selection() / plan.Block()
	var claims []ledger.Claim
	return ledgerio.Create(filepath.Join(dir, "run.ledger"), h, func(e *ledgerio.Encoder) error {
		for i := range h.Data.Images {
			looks := []ledger.Look{{Image: i, Label: -1, To: first,
				Counts: []ledger.Count{{Class: 1, N: plan.Selection()}}},
				{Image: i, Label: -1, From: first, To: first + 10*classes/plan.Block(), Counts: counts}}
			out, err := plan.Judge(looks)
			if err != nil {
				return err
			}
			claims = append(claims, stopping.Claim(out, i))
			for _, l := range looks {
				e.Look(l)
			}
		}
		return e.Finish(ledger.Claims{Images: claims})
	})
}

// boundClasses bounds the confidence of a small random network around an image.
func boundClasses(ctx context.Context, _ string, classes int) error {
	const in, hidden = 64, 64
	random := rand.New(rand.NewPCG(1, 2))
	weights := func(n int, scale float64) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = scale * random.NormFloat64()
		}
		return w
	}
	b := feedforward.NewBuilder(in)
	h := b.ReLU(b.Dense(0, hidden, weights(in*hidden, .2), weights(hidden, .2)))
	n, err := b.Network(b.Dense(h, classes, weights(hidden*classes, .05), weights(classes, .5)))
	if err != nil {
		return err
	}
	x := make([]float64, in)
	for i := range x {
		x[i] = random.Float64()
	}
	ball, err := feedforward.Ball(x, .01, feedforward.Rigorous)
	if err != nil {
		return err
	}
	_, err = n.Confidence(ctx, x, ball, feedforward.CROWN, feedforward.Rigorous)
	return err
}

func writePictures(_ context.Context, dir string, size int) error {
	im := image.NewRGBA(image.Rect(0, 0, 224, 224))
	for i := range size {
		im.Set(i%224, i/224%224, color.RGBA{uint8(i), uint8(i >> 8), 9, 255})
		folder := filepath.Join(dir, "pictures", fmt.Sprintf("class-%03d", i%100))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		file, err := os.OpenFile(filepath.Join(folder, fmt.Sprintf("%06d.jpg", i)), os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		if err := jpeg.Encode(file, im, nil); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
		rested := time.Now().Add(-time.Hour) // what was just written is not remembered
		if err := os.Chtimes(file.Name(), rested, rested); err != nil {
			return err
		}
	}
	return nil
}

func openPictures(ctx context.Context, dir string, _ int) error {
	d, err := dataset.Open("folder:" + filepath.Join(dir, "pictures"))
	if err != nil {
		return err
	}
	x, err := d.Index(ctx, nil)
	if err != nil {
		return err
	}
	_, err = x.Read(ctx, 0)
	return err
}

// scaleCommand measures each work at its sizes, each in a process of its own, which is this program again.
func scaleCommand(s *settings) *cobra.Command {
	var one, dir string
	var size int
	var prepare bool
	cmd := &cobra.Command{Use: "scale",
		Short: "Processor time and memory of what is around the model, by the number of images, shards and pictures",
		Args:  cobra.NoArgs}
	cmd.Flags().StringVar(&one, "one", "", "do one work in this process")
	cmd.Flags().StringVar(&dir, "dir", "", "its folder")
	cmd.Flags().IntVar(&size, "size", 0, "its size")
	cmd.Flags().BoolVar(&prepare, "prepare", false, "make its input")
	for _, name := range []string{"one", "dir", "size", "prepare"} {
		cmd.Flags().MarkHidden(name)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, w := range scaleWorks {
			if w.name == one && prepare {
				return w.prepare(cmd.Context(), dir, size)
			}
			if w.name == one {
				return w.run(cmd.Context(), dir, size)
			}
		}
		return scales(cmd.Context(), *s)
	}
	return cmd
}

func scales(ctx context.Context, s settings) error {
	only, err := regexp.Compile(s.only)
	if err != nil {
		return err
	}
	var list []scaled
	for _, w := range scaleWorks {
		if !only.MatchString(w.name) {
			continue
		}
		for _, size := range w.sizes {
			fmt.Fprintf(os.Stderr, "%s, %d\n", w.name, size)
			one, err := measureScale(ctx, w.name, size)
			if err != nil {
				return fmt.Errorf("%s, %d: %w", w.name, size, err)
			}
			list = append(list, one)
			if err := writeScale(s, list); err != nil {
				return err
			}
		}
	}
	return nil
}

func measureScale(ctx context.Context, work string, size int) (scaled, error) {
	dir, err := os.MkdirTemp("", "certspec-bench-")
	if err != nil {
		return scaled{}, err
	}
	defer os.RemoveAll(dir)
	program, err := os.Executable()
	if err != nil {
		return scaled{}, err
	}
	var usage *syscall.Rusage
	for _, args := range [][]string{{"--prepare"}, nil} {
		run := exec.CommandContext(ctx, program, append([]string{"scale", "--one", work, "--dir", dir, "--size",
			strconv.Itoa(size)}, args...)...)
		run.Env = append(os.Environ(), cache.Variable+"="+filepath.Join(dir, "cache"))
		run.Stderr = os.Stderr
		if err := run.Run(); err != nil {
			return scaled{}, err
		}
		usage = run.ProcessState.SysUsage().(*syscall.Rusage)
	}
	seconds := float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
	return scaled{work, size, seconds, float64(usage.Maxrss) / 1024}, nil
}

// growth is the exponent with which processor time grew since a work's last size.
func growth(list []scaled, i int) string {
	if i == 0 || list[i-1].Work != list[i].Work {
		return ""
	}
	return fmt.Sprintf("%.2f", math.Log(list[i].Seconds/list[i-1].Seconds)/
		math.Log(float64(list[i].Size)/float64(list[i-1].Size)))
}

func writeScale(s settings, list []scaled) error {
	w := prettytable.NewWriter()
	w.AppendHeader(prettytable.Row{"work", "size", "processor, s", "memory, MiB", "exponent"})
	for i, one := range list {
		w.AppendRow(prettytable.Row{one.Work, one.Size, fmt.Sprintf("%.2f", one.Seconds),
			fmt.Sprintf("%.0f", one.Memory), growth(list, i)})
	}
	return writeMeasured(s, "scale", "Each work runs at each size in a process of its own, start included. "+
		"“Exponent” is that with which processor time grew since the size before: 1 is linear. Images have one pixel, "+
		"100 + 100 noise samples and a model that is a threshold; pictures are JPEG files of 224 × 224 in 100 folders.",
		w, list)
}
