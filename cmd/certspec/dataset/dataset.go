// Package dataset is "certspec dataset".
package dataset

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("dataset", "List, download and describe data sets", "", listCommand(), fetchCommand())
}

// listOptions holds the values of the flags of "dataset list".
type listOptions struct {
	images cli.ImageOptions
	json   *bool
}

func listCommand() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list [NAME]",
		Short: "List the data sets that are known by name, or describe one: images, classes, digest, files",
		Long: `List the data sets that are known by name, whether they are on this machine, and the forms of a name
that every --data takes. With NAME, describe that data set, or the part of it that is named: images,
classes, digest, licence, files.`,
		Example: "  certspec dataset list\n" +
			"  certspec dataset list fashionmnist/test --count 500\n" +
			"  certspec dataset list 'cifar10-jpeg/test[skip=20]'\n" +
			"  certspec dataset list folder:pictures.tar.gz/train\n" +
			"  certspec dataset list 'folder:pictures[resize=256,crop=224,classes=labels.txt]'\n" +
			"  certspec dataset list npy:fog.npy,labels.npy,severity=3,classes=cifar10",
	}
	o.images.SelectionFlags(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "count", "skip", "max-index", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return o.list(cmd)
		}
		if err := oneName(cmd, args); err != nil {
			return err
		}
		return o.describe(cmd, args[0])
	}
	return cmd
}

func (o *listOptions) list(cmd *cobra.Command) error {
	var wrong error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "json" {
			wrong = cli.Usagef("--%s: expected the NAME of a data set, too", f.Name)
		}
	})
	if wrong != nil {
		return wrong
	}
	sets := dataset.Sets()
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), sets)
	}
	w := cli.Columns(cmd.OutOrStdout())
	fmt.Fprintln(w, "NAME\tIMAGES\tCLASSES\tTRAIN\tTEST\tHERE\tWHAT")
	for _, s := range sets {
		here := "yes"
		if !s.Present {
			here = "no"
			if s.Official {
				here = "fetch"
			}
		}
		cli.Fprintf(w, "%s\t%v\t%d\t%d\t%d\t%s\t%s\n", s.Name, s.Shape, s.Classes, s.Train, s.Test, here, s.Title)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), forms)
	return err
}

const forms = `
What --data takes:
  fashionmnist/test                        a set of the list and its part, train or test
  fashionmnist/test[skip=20,count=100]     some of its images; --skip, --max-index and --count say the same
  folder:PATH                              pictures, CLASS/PICTURE.png or .jpg, in a folder, a .tar or a .tar.gz
  folder:PATH[resize=256,crop=224]         the same, prepared; see certspec help data
  npy:IMAGES.npy,LABELS.npy                uint8 images (N×H×W×C) and N labels, which may be missing;
                                           then perhaps ,severity=3 and ,classes=cifar10

HERE: yes; fetch: "certspec dataset fetch NAME" downloads it; no: its files belong below the folder that
CERTSPEC_DATA names.
`

func fetchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fetch NAME",
		Short: "Download the official files of a data set into the cache, checking size and SHA-256",
		Args:  oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := dataset.Fetch(cmd.Context(), args[0], cli.Progress()); err != nil {
				return err
			}
			cli.Say("%s is on this machine", args[0])
			return nil
		},
	}
}

// Info is the output of "dataset list NAME".
type Info struct {
	Name     string       `json:"name"`
	Images   int          `json:"images"`
	Shape    pixel.Shape  `json:"shape"`
	Resized  string       `json:"resized,omitempty"`
	Classes  []ClassCount `json:"classes"`
	Unknown  int          `json:"unlabelled"`
	Digest   string       `json:"digest"`
	Origin   string       `json:"origin"`
	Warnings []string     `json:"warnings"`
}

// ClassCount is the number of images of a class.
type ClassCount struct {
	Label  int    `json:"label"`
	Name   string `json:"name"`
	Folder string `json:"folder,omitempty"` // folders that have the label, where they are no class names
	Images int    `json:"images"`
}

func (o *listOptions) describe(cmd *cobra.Command, name string) error {
	d, err := o.images.OpenNamed(name)
	if err != nil {
		return err
	}
	origin, err := d.Origin()
	if err != nil {
		return err
	}
	im, err := d.Index(cmd.Context(), cli.Progress())
	if err != nil {
		return err
	}
	i := Info{
		Name:     im.Name,
		Images:   im.Len(),
		Shape:    im.Shape,
		Resized:  cli.Resized(d, im.Shape),
		Classes:  []ClassCount{},
		Unknown:  im.Len(),
		Digest:   im.Digest,
		Origin:   origin,
		Warnings: append([]string{}, im.Warnings...),
	}
	folders := make([]string, len(im.Classes))
	if d.Preparation().Classes != "" {
		for _, folder := range slices.Sorted(maps.Keys(im.Folders)) {
			label := im.Folders[folder]
			folders[label] = strings.TrimPrefix(folders[label]+", "+folder, ", ")
		}
	}
	for class, n := range im.ClassCounts() {
		i.Classes = append(i.Classes, ClassCount{class, im.Classes[class], folders[class], n})
		i.Unknown -= n
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), i)
	}
	for _, warning := range i.Warnings {
		cli.Say("warning: %s", warning)
	}
	return i.print(cmd.OutOrStdout())
}

func (i Info) print(out io.Writer) error {
	w := cli.Columns(out)
	cli.Fprintf(w, "name\t%s\n", i.Name)
	cli.Fprintf(w, "images\t%d of %v\n", i.Images, i.Shape)
	if i.Resized != "" {
		cli.Fprintf(w, "resized\t%s\n", i.Resized)
	}
	counts := make([]string, 0, len(i.Classes)+1)
	mapped := false
	for _, c := range i.Classes {
		if c.Folder != "" {
			mapped = true
		}
		counts = append(counts, fmt.Sprintf("%s %d", c.Name, c.Images))
	}
	if i.Unknown > 0 {
		counts = append(counts, fmt.Sprintf("without label %d", i.Unknown))
	}
	switch {
	case i.Unknown == i.Images:
		cli.Fprintf(w, "classes\tno labels\n")
	case mapped:
		cli.Fprintf(w, "classes\t%d, see below\n", len(i.Classes))
	default:
		cli.Fprintf(w, "classes\t%d: %s\n", len(i.Classes), strings.Join(counts, ", "))
	}
	cli.Fprintf(w, "digest\t%s\n", i.Digest)
	cli.Fprintf(w, "origin\t%s\n", i.Origin)
	if mapped {
		fmt.Fprintln(w, "\nfolder\tlabel\tclass\timages")
		for _, c := range i.Classes {
			if c.Folder != "" {
				cli.Fprintf(w, "%s\t%d\t%s\t%d\n", c.Folder, c.Label, c.Name, c.Images)
			}
		}
	}
	return w.Flush()
}

// oneName wants one argument, the name of a data set.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usagef("%s wants one name of a data set; certspec dataset list shows the known ones",
			cmd.CommandPath())
	}
	return nil
}
