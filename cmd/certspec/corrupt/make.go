package corrupt

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/corrupt/setfolder"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/corrupt"
)

// makeOptions holds the values of the flags of "corrupt make".
type makeOptions struct {
	setfolder.MakeOptions
	images       cli.ImageOptions
	words, names []string
	centres      []int
	decays       []float64
	variants     cli.CorruptVariants
	out          string
	json         *bool
}

func makeCommand() *cobra.Command {
	var o makeOptions
	cmd := &cobra.Command{
		Use:   "make --data NAME --out FOLDER {--family WORDS | --name NAMES} [flags]",
		Short: "Write a set of corrupted images in the layout of CIFAR-C",
		Long: `Write a set of corrupted images in the layout of CIFAR-C.

Each corruption gets a NumPy file with five severities one after the other. CIFAR-F has one for each ring and decay,
with three norms. labels.npy and manifest.json, with the settings and the SHA-256 of each file, lie beside them. The
same command adds files to a folder of the same data and seed.`,
		Example: "  certspec corrupt make --data cifar10/test --family C --seed 1 --out CIFAR-10-C-gen\n" +
			"  certspec corrupt make --data cifar10/test --family F --fc 1,5,9 --alpha 0.5 --seed 1 --out CIFAR-10-F\n" +
			"  certspec certify --data " +
			"npy:CIFAR-10-C-gen/fog.npy,CIFAR-10-C-gen/labels.npy,severity=3,classes=cifar10 ...",
		Args: cli.NoArgs,
	}

	o.images.Flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Words(&o.words, "family", nil, "families or groups: C, C-extra, C-bar, F, Low, Mid, High, all",
			cli.CorruptionWords)
		f.Words(&o.names, "name", nil, "names of single corruptions", cli.Corruptions)
		f.Ints(&o.centres, "fc", nil, "of F: rings (default 1 to 16)")
		f.Floats(&o.decays, "alpha", nil, "of F: decays (default 0.5, 1, 2, 3)")
		o.variants.Flags(f)
		f.Uint64Var(&o.Seed, "seed", 0, "seed of the random numbers")
		f.IntVar(&o.Workers, "workers", 0, "goroutines (default one per processor); the bytes do not depend on it")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.OutFolder(&o.out, "folder to write to") })
	cli.Records(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "data", "family", "name", "seed", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.write(cmd) }
	return cmd
}

func (o *makeOptions) write(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "data", "out"); err != nil {
		return err
	}
	if o.Workers < 0 {
		return cli.Usagef("--workers %d: expected at least 0", o.Workers)
	}
	of, err := corrupt.Names(o.words)
	if err != nil {
		return cli.Usage(err)
	}
	for _, name := range o.names {
		if !slices.Contains(of, name) {
			of = append(of, name)
		}
	}
	if len(of) == 0 {
		return cli.Usagef("neither --family nor --name: nothing to make")
	}
	var files []corrupt.File
	for _, name := range of {
		more, err := corruptFiles(name, o.variants.Setting, o.centres, o.decays)
		if err != nil {
			return cli.Usage(err)
		}
		files = append(files, more...)
	}
	images, err := o.images.Open()
	if err != nil {
		return err
	}
	o.Progress = cli.Progress()
	m, err := setfolder.Make(cmd.Context(), images, o.out, files, o.MakeOptions)
	if err != nil {
		return cli.Usage(err)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), m)
	}
	w := cli.Columns(cmd.OutOrStdout())
	for _, made := range m.Files {
		cli.Fprintf(w, "%s\t%v\t%s\n", made.Name, made.Shape, made.SHA256)
	}
	return w.Flush()
}

// corruptFiles lists the files of a corruption, of F those that were asked for.
func corruptFiles(name string, s corrupt.Setting, centres []int, decays []float64) ([]corrupt.File, error) {
	one := corrupt.Setting{Name: name}
	switch name {
	case "glass_blur":
		one.GlassSwap = s.GlassSwap
	case "frost":
		one.Photographs = s.Photographs
	case "fourier":
		one.Archive = s.Archive
		if centres == nil && decays == nil {
			break
		}
		if centres == nil {
			for centre := range corrupt.FourierCentres {
				centres = append(centres, centre+1)
			}
		}
		if decays == nil {
			decays = corrupt.FourierDecays
		}
		var files []corrupt.File
		for _, decay := range decays {
			for _, centre := range centres {
				files = append(files, corrupt.FourierFile(centre, decay, s.Archive))
			}
		}
		return files, nil
	}
	return corrupt.Files(one)
}
