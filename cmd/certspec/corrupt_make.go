package main

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/corrupt"
)

func corruptMakeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "make --data NAME --out FOLDER {--family WORDS | --name NAMES} [flags]",
		Short: "Write a set of corrupted images in the layout of CIFAR-C",
		Long: `Write a set of corrupted images: a NumPy file per corruption with five severities one after the other (of CIFAR-F one per ring and decay,
with three norms), labels.npy, and manifest.json with the settings and the SHA-256 of each file. A file stands under its name only when it is
complete; the same command goes on after an interruption, and adds files to a folder that was made with the same data and seed.`,
		Example: "  certspec corrupt make --data cifar10/test --family C --seed 1 --out CIFAR-10-C-gen\n" +
			"  certspec corrupt make --data cifar10/test --family F --fc 1,5,9 --alpha 0.5 --seed 1 --out CIFAR-10-F\n" +
			"  certspec certify --data npy:CIFAR-10-C-gen/fog.npy,CIFAR-10-C-gen/labels.npy,severity=3,classes=cifar10 ...",
		Args: noArgs,
	}
	var s corrupt.Setting
	openImages := dataFlags(cmd)
	f := cmd.Flags()
	words := f.StringSlice("family", nil, "families or groups: C, C-extra, C-bar, F, Low, Mid, High, all")
	names := f.StringSlice("name", nil, "single corruptions")
	centres := f.IntSlice("fc", nil, "of F: rings (default 1 to 16)")
	decays := f.Float64Slice("alpha", nil, "of F: decays (default 0.5, 1, 2, 3)")
	corruptOptions(cmd, &s)
	out := f.String("out", "", "folder to write to")
	var o corrupt.MakeOptions
	f.Uint64Var(&o.Seed, "seed", 0, "of the random numbers")
	f.IntVar(&o.Workers, "workers", 0, "goroutines (default one per processor); the bytes do not depend on it")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := needed(cmd, "data", "out"); err != nil {
			return err
		}
		if o.Workers < 0 {
			return usagef("--workers %d: expected at least 0", o.Workers)
		}
		of, err := corrupt.Names(*words)
		if err != nil {
			return corruptUsage(err)
		}
		for _, name := range *names {
			if !slices.Contains(of, name) {
				of = append(of, name)
			}
		}
		if len(of) == 0 {
			return usagef("neither --family nor --name: nothing to make")
		}
		var files []corrupt.File
		for _, name := range of {
			more, err := corruptFiles(name, s, *centres, *decays)
			if err != nil {
				return corruptUsage(err)
			}
			files = append(files, more...)
		}
		images, err := openImages()
		if err != nil {
			return err
		}
		o.Progress = terminalProgress()
		m, err := corrupt.Make(cmd.Context(), images, *out, files, o)
		if err != nil {
			return corruptUsage(err)
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), m)
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		for _, made := range m.Files {
			fmt.Fprintf(w, "%s\t%v\t%s\n", made.Name, made.Shape, made.SHA256)
		}
		return w.Flush()
	}
	return cmd
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
