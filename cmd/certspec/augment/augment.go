// Package augment is "certspec augment".
package augment

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/progress"
)

type augmentation struct {
	name, in, out string
	options       []string
	at            augment.Address
	bytes, list   bool
	workers       int
	json          *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o augmentation
	cmd := &cobra.Command{
		Use:   "augment --name NAME --in IN.npy --out OUT.npy [flags]",
		Short: "Write random views of images: FourierMix, AugMix, AutoAugment, crop, flip",
		Long: `Write one random view of each image of a NumPy file.

The file holds images N×H×W×C or N×H×W: uint8, or float32 or float64 in units of the full range. Views are
float32 in these units, and not clipped; --uint8 clips them to [0, 1] and rounds. A view depends on the seed, the
epoch, the number of the view and the place of the image in the file. certspec augment --list shows names and
options. Names joined by "+" are applied one after the other, with options in brackets.`,
		Example: `  certspec augment --name fouriermix --seed 1 --in in.npy --out out.npy
  certspec augment --name augmix --option severity=5 --seed 1 --uint8 --in in.npy --out out.npy
  certspec augment --name 'fouriermix(real_mode=abs)+crop+flip' --seed 1 --view 2 --in in.npy --out out.npy`,
		Args: cli.NoArgs,
	}

	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.Named(&o.name, "name", "", "augmentation, or several joined by +; see certspec augment --list", names)
		f.Texts(&o.options, "option", "option of the augmentation as key=value; may be given again")
		f.File(&o.in, "in", "file of images to read", "npy")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Uint64Var(&o.at.Seed, "seed", 0, "seed of all random streams")
		f.Uint64Var(&o.at.Epoch, "epoch", 0, "epoch: another one gives other views")
		f.Uint64Var(&o.at.View, "view", 0, "number of the view of each image")
		f.IntVar(&o.workers, "workers", 0, "images at a time (default one for each processor)")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.BoolVar(&o.list, "list", false, "list the augmentations with their options and defaults")
		f.Out(&o.out, "file of views to write", ".npy")
		f.BoolVar(&o.bytes, "uint8", false, "clip to [0, 1] and write bytes")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "name", "in", "seed", "out", "list")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *augmentation) run(cmd *cobra.Command) error {
	if o.list {
		return list(cmd, *o.json)
	}
	if err := cli.Needed(cmd, "name", "in", "out"); err != nil {
		return err
	}
	result, err := o.views(cmd)
	if err != nil || !*o.json {
		return cli.Usage(err)
	}
	return cli.PrintJSON(cmd.OutOrStdout(), result)
}

// Result is the output of "augment --json".
type Result struct {
	Augmentation string `json:"augmentation"`
	Seed         uint64 `json:"seed"`
	Epoch        uint64 `json:"epoch"`
	View         uint64 `json:"view"`
	Shape        []int  `json:"shape"`
	Type         string `json:"type"` // uint8 or float32
	Out          string `json:"out"`
}

func (q *augmentation) views(cmd *cobra.Command) (*Result, error) {
	a, err := augment.Parse(q.name)
	if len(q.options) > 0 {
		a, err = augment.New(q.name, q.options...)
	}
	if err != nil {
		return nil, err
	}
	if q.workers < 0 {
		return nil, cli.Usagef("--workers is %d; expected 0 or more", q.workers)
	}
	images, err := dataset.ReadAnyArray(cmd.Context(), q.in)
	if err != nil {
		return nil, err
	}
	s := images.Shape
	result := &Result{a.String(), q.at.Seed, q.at.Epoch, q.at.View, []int{images.N, s.Height, s.Width, s.Channels},
		"float32", q.out}
	descr, size := "<f4", 4
	if q.bytes {
		result.Type, descr, size = "uint8", "|u1", 1
	}
	var header bytes.Buffer
	if err := npy.WriteHeader(&header, descr, result.Shape...); err != nil {
		return nil, err
	}
	stdout := cli.SummaryAside(cmd, q.out)
	report := imageProgress("augment "+q.in, images.N)
	return result, atomicfile.ToAnyOrder(q.out, stdout, func(file *os.File) error {
		if _, err := file.Write(header.Bytes()); err != nil {
			return err
		}
		load := func(i int, dst []float32) error {
			if n := s.Len(); images.Bytes != nil {
				augment.FromBytes(dst, images.Bytes[i*n:(i+1)*n])
			} else {
				copy(dst, images.Real[i*n:])
			}
			return nil
		}
		address := func(i int) augment.Address {
			at := q.at
			at.Image = uint64(i)
			return at
		}
		save := func(i int, view []float32) error {
			data := make([]byte, len(view)*size)
			if q.bytes {
				augment.ToBytes(data, view)
			} else {
				for k, v := range view {
					binary.LittleEndian.PutUint32(data[4*k:], math.Float32bits(v))
				}
			}
			_, err := file.WriteAt(data, int64(header.Len())+int64(i)*int64(len(data)))
			report()
			return err
		}
		return augment.Views(cmd.Context(), a, s, images.N, q.workers, load, address, save)
	})
}

// imageProgress shows work on so many images; what it returns is called once for each, from any goroutine.
func imageProgress(task string, total int) func() {
	show := cli.Progress()
	start, last := time.Now(), time.Time{}
	done := 0
	var lock sync.Mutex
	return func() {
		lock.Lock()
		defer lock.Unlock()
		done++
		now := time.Now()
		if done < total && now.Sub(last) < 100*time.Millisecond {
			return
		}
		last = now
		state := progress.State{Task: task, Done: float64(done), Total: float64(total), Unit: "images", Left: -1,
			Final: done == total}
		if spent := now.Sub(start); spent > 0 {
			state.Rate = float64(done) / spent.Seconds()
			state.Left = time.Duration(float64(spent) * float64(total-done) / float64(done))
		}
		show(state)
	}
}

func names() []string {
	var all []string
	for _, e := range augment.List() {
		all = append(all, e.Name)
	}
	return all
}

// list prints the augmentations with their options and defaults.
func list(cmd *cobra.Command, asJSON bool) error {
	all := augment.List()
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	w := cli.Columns(cmd.OutOrStdout())
	for _, e := range all {
		cli.Fprintf(w, "%s\t\t%s\n", e.Name, strings.ToUpper(e.Description[:1])+e.Description[1:])
		for _, o := range e.Options {
			cli.Fprintf(w, "  %s=%s\t\t%s\n", o.Key, o.Value, o.Usage)
		}
	}
	return w.Flush()
}
