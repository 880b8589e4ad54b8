package ood

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/ood/record"
	"github.com/certspec/certspec/ood"
)

// verified is what "ood verify --json" prints.
type verified struct {
	File    string `json:"file"`
	Digest  string `json:"digest"`
	Images  int    `json:"images"`
	Checked int    `json:"checked"` // images whose bounds, or in a file of attacks whose own confidences, were computed again
}

// verifyOptions are what the flags of "ood verify" ask.
type verifyOptions struct {
	network cli.NetworkOptions
	images  cli.ImageOptions
	sample  int
	json    *bool
}

func verify() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify FILE [--model FILE]",
		Short: "Check a file: form, claims and digest; with the model, its bounds",
		Long: `Check that a file of certspec ood is whole and says what follows from its lines: the form of each line, the claims, which are
derived again, and the digest. With --model, network and images must have the digests of the file, and bounds are computed
again: of --sample images, spread evenly, or of all; of a file of attacks, the confidences of the images themselves. The images are
those that the file names, or those of --data.`,
		Example: "  certspec ood verify out/mnist.ood --model net.onnx --sample 100",
		Args: func(cmd *cobra.Command, files []string) error {
			if len(files) != 1 {
				return cli.Usagef("%s wants one file, got %d", cmd.CommandPath(), len(files))
			}
			return nil
		},
	}
	o.network.Flags(cmd)
	o.network.UncomparedFlag(cmd)
	o.images.Flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.IntVar(&o.sample, "sample", 0, "images whose bounds are computed again; 0: all")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "sample", "shape", "json")
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) }
	return cmd
}

func (o *verifyOptions) run(cmd *cobra.Command, files []string) error {
	if o.sample < 0 {
		return cli.Usagef("--sample %d: expected at least 0", o.sample)
	}
	for _, name := range []string{"sample", "data"} {
		if cmd.Flags().Changed(name) && o.network.Path == "" {
			return cli.Usagef("--%s without --model: only with the network can anything be computed again", name)
		}
	}
	m, err := record.Read(files[0])
	if err != nil {
		return err
	}
	if m.Claims == nil {
		return fmt.Errorf("%s is not finished: it has %d of %d images", files[0], len(m.Lines), m.Header.Data.Images)
	}
	v := verified{File: files[0], Digest: m.Digest, Images: len(m.Lines)}
	if o.network.Path != "" {
		if v.Checked, err = computeAgain(cmd, m, &o.network, &o.images, o.sample); err != nil {
			return err
		}
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), v)
	}
	again := fmt.Sprintf("bounds of %d images computed again", v.Checked)
	switch {
	case o.network.Path == "":
		again = "nothing computed again, which takes --model"
	case m.Header.Attack != nil:
		again = fmt.Sprintf("confidences of %d images themselves computed again, not what attacks found", v.Checked)
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: whole, %d images, claims and digest as they should be; %s\n", v.File, v.Images, again)
	return err
}

func computeAgain(cmd *cobra.Command, m *ood.Measurement, network *cli.NetworkOptions, images *cli.ImageOptions, sample int) (int, error) {
	opened, n, err := network.Open()
	if err != nil {
		return 0, err
	}
	defer opened.Close()
	data, err := dataset.OpenLike(m.Header.Data.Name, m.Header.Data.Name)
	if images.Name != "" {
		images.Recorded = m.Path
		data, err = images.Open()
	}
	if err != nil {
		return 0, err
	}
	return ood.Verify(cmd.Context(), m, n, data, sample)
}

// mergeOptions are what the flags of "ood merge" ask.
type mergeOptions struct {
	out  string
	json *bool
}

func merge() *cobra.Command {
	var o mergeOptions
	cmd := &cobra.Command{
		Use:     "merge -o FILE SHARD…",
		Short:   "Join the shards of a run into the file of the whole, byte for byte",
		Long:    "Join the files of all shards of one run into the file that one process would have written, byte for byte. Shards of other settings are refused, and missing or unfinished ones are named.",
		Example: "  certspec ood merge -o out/mnist.ood out/mnist-*.ood",
		Args: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				return cli.Usagef("%s wants the files of all shards", cmd.CommandPath())
			}
			return nil
		},
	}
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "file to write") })
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) }
	return cmd
}

func (o *mergeOptions) run(cmd *cobra.Command, files []string) error {
	if err := cli.Needed(cmd, "out"); err != nil {
		return err
	}
	m, err := record.Merge(cmd.Context(), o.out, files)
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), verified{File: o.out, Digest: m.Digest, Images: len(m.Lines)})
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: %d images of %d shards\n", o.out, len(m.Lines), len(files))
	return err
}
