// Command bench times certspec beside other software, on one machine and in one run.
//
//	go run ./bench certify   noise samples per second: rs.Certify, PyTorch, JAX
//	go run ./bench train     training images per second, method by method
//	go run ./bench act       the same: adversarial calibration training beside SmoothAdv
//	go run ./bench pgd       attacked images per second
//	go run ./bench pages     settings of the memory allocator: training and certification
//	go run ./bench cost      memory, time to compile, and time spent waiting for batches
//	go run ./bench noise     noise values per second
//	go run ./bench augment   views of images per second
//	go run ./bench spectral  spectra of images, and images with a Fourier basis image, per second
//	go run ./bench lines     accuracy lines: table 1 of 447 networks, and resamples of a bootstrap, per second
//	go run ./bench paths     images along Fourier paths, alone and through a network, and exact Jacobians, per second
//	go run ./bench prune     training images per second with pruning, beside dense training
//	go run ./bench ibp       bounded images, attacked images and areas under the ROC curve, per second
//	go run ./bench corrupt   corrupted images per second
//	go run ./bench frontier  mean radius for a number of noise samples: the stopping rules beside an oracle
//	go run ./bench soundness false certificates for classifiers that are known exactly: the rules, and other software
//	go run ./bench stopping  false claims of the rule anytime, stopped at the worst moment
//	go run ./bench profile   where ONNX Runtime spends the time of a network
//	go run ./bench exporters ten families of networks by both exporters of PyTorch: what is read, bounded, refused
//	go run ./bench coverage  how often intervals of accuracy lines hold the truth; simulated
//	go run ./bench package   the Python package beside a plain loop, ART and a fake device
//	go run ./bench scale     processor time and memory by the number of images, shards and pictures
//	go run ./bench cells     seconds of a cell, of Tab and of an interrupt: certspec's kernel and Python's
//	go run ./bench calib     ADMM steps, samples of an ECE and of an exact bound, and certified confidences, per second
//
// The contenders of a comparison take turns, round after round, so that a machine whose speed
// wanders treats them alike; what is compared is the ratio within a round. The other software
// is installed, pinned, into certspec's cache. Results are written to bench/results.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/hugepages"
)

// settings are the flags that all benchmarks share.
type settings struct {
	out     string
	rounds  int
	turn    time.Duration
	backend string
	only    string
	choice

	processor bool
}

type choice struct {
	nets    []string
	batches []int
	methods []string
}

func main() {
	hugepages.Use() // as certspec's commands do
	if os.Getenv(hugepages.Variable) != "off" {
		os.Unsetenv("GLIBC_TUNABLES") // other software runs as its users start it
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var s settings
	root := &cobra.Command{
		Use:           "bench",
		Short:         "Time certspec beside other software",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&s.out, "out", "", "results without extension (default bench/results/BENCHMARK)")
	flags.IntVar(&s.rounds, "rounds", 7, "rounds in which every contender has one turn")
	flags.DurationVar(&s.turn, "turn", 3*time.Second, "least length of a turn")
	flags.BoolVar(&s.processor, "processor", false,
		"rates by processor time, of all threads, which other load of the machine disturbs less")
	flags.StringVar(&s.backend, "backend", "", "GoMLX backend of certspec: xla, xla:cuda, go … (default xla)")
	flags.StringVar(&s.only, "only", "", "regular expression that the names of the contenders must match")
	for _, b := range benchmarks {
		own := choice{nets: b.nets, batches: b.batches, methods: b.methods} // each command has defaults of its own
		cmd := &cobra.Command{Use: b.name, Short: b.short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command,
			_ []string) error {
			s.choice = own
			b.processor = b.processor || s.processor
			if b.turn > 0 && !cmd.Flags().Changed("turn") {
				s.turn = b.turn
			}
			return b.run(cmd.Context(), s)
		}}
		if b.nets != nil {
			cmd.Flags().StringSliceVar(&own.nets, "nets", b.nets, "nets to time")
			cmd.Flags().IntSliceVar(&own.batches, "batches", b.batches, "batch sizes; in training, rows of a step")
		}
		if b.methods != nil {
			cmd.Flags().StringSliceVar(&own.methods, "methods", b.methods, "methods of training")
		}
		root.AddCommand(cmd)
	}
	root.AddCommand(costCommand(&s), exportersCommand(&s), frontierCommand(&s), soundnessCommand(&s), stoppingCommand(&s),
		coverageCommand(&s), cellsCommand(&s), workerCommand())
	for _, command := range extra {
		root.AddCommand(command(&s))
	}
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		if errors.Is(err, context.Canceled) {
			os.Exit(75)
		}
		os.Exit(1)
	}
}

// extra are commands of files that not every build has.
var extra []func(*settings) *cobra.Command

// benchmark is one subcommand.
type benchmark struct {
	name, short string
	unit        string // plural noun of what a rate counts
	nets        []string
	batches     []int
	methods     []string
	turn        time.Duration // of it where no other is asked for, 0: that of all
	processor   bool          // contenders of one thread, timed by processor time
	cases       func(ctx context.Context, s settings) ([]comparison, error)
}

var benchmarks = []benchmark{
	{name: "pages", short: "settings of the memory allocator: training and certification, by processor time, with " +
		"their page faults", unit: "images",
		nets: []string{"resnet20"}, batches: []int{128}, processor: true, cases: pagesCases},
	{name: "certify", short: "noise samples per second of a certification", unit: "noise samples",
		nets: []string{"resnet20", "resnet110", "small-cnn"}, batches: []int{100, 128, 512}, cases: certifyCases},
	{name: "train", short: "images per second of a training run", unit: "images", nets: []string{"resnet20",
		"small-cnn"}, batches: []int{128},
		methods: []string{"gaussian", "consistency", "jsd", "hcr", "macer", "smoothadv"}, cases: trainCases},
	{name: "act", short: "images per second: calibration training beside SmoothAdv", unit: "images",
		nets: []string{"resnet20", "small-cnn"}, batches: []int{256}, cases: actCases},
	{name: "pgd", short: "images per second: PGD of 20 steps", unit: "images", cases: pgdCases},
	{name: "noise", short: "noise values per second", unit: "values", cases: noiseCases},
	{name: "augment", short: "views of images per second", unit: "views", turn: 2 * time.Second, processor: true,
		cases: augmentCases},
	{name: "spectral", short: "spectra, and images with a Fourier basis image, per second", unit: "images",
		turn: 2 * time.Second, processor: true, cases: spectralCases},
	{name: "lines", short: "accuracy lines: table 1 of 447 networks, and resamples of a bootstrap, per second",
		unit: "units", turn: time.Second, processor: true, cases: linesCases},
	{name: "paths", short: "images along Fourier paths, alone and through a network, and exact Jacobians, per second",
		unit: "images", turn: time.Second, processor: true, cases: pathsCases},
	{name: "prune", short: "images per second: training with pruning beside dense training", unit: "images",
		nets: []string{"resnet8"}, batches: []int{128},
		methods: []string{"ft", "gmp", "lrr", "edgepopup", "biprop"}, turn: 2 * time.Second, processor: true,
		cases: pruneCases},
	{name: "ibp", short: "guaranteed out-of-distribution detection: bounded and attacked images, areas under the " +
		"ROC curve, per second", unit: "units",
		nets: []string{"small-cnn", "l"}, batches: []int{100}, turn: 2 * time.Second, processor: true,
		cases: ibpCases},
	{name: "corrupt", short: "corrupted images per second", unit: "images", turn: 300 * time.Millisecond,
		processor: true, cases: corruptCases},
	{name: "calib", short: "calibration: ADMM steps, samples of an ECE and of an exact bound, certified " +
		"confidences, per second", unit: "units",
		turn: time.Second, cases: calibCases},
}
