// Package gate is "certspec gate".
package gate

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/internal/rs/attest"
	"github.com/certspec/certspec/internal/rs/gate"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/table"

	"github.com/spf13/cobra"
)

// options holds the values of the flags.
type options struct {
	gate.Options
	data          cli.ImageOptions
	engine, junit string
	statement     string
	byClass       bool
	file, column  string // of groups
	json          *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "gate OLD NEW --data NAME --sigma S --radius R",
		Short: "Test whether a changed model lost certified accuracy",
		Long: `Test whether the certified accuracy of NEW at a radius is lower than that of OLD by more than --drop.

Both models answer the same noise samples, image by image in a random order, until the verdict is known. What is
tested is the loss that two full runs with these samples would show. With --by-class or --groups each group of images
is tested: NEW passes if all groups pass. Exit codes: 0 pass, 1 fail, 3 undecided after --images, 4 no verdict, or
one that could not be written. --out keeps the outcomes; the same command goes on.`,
		Example: `  certspec gate old.onnx new.onnx --data fashionmnist/test --sigma 0.25 --radius 0.25 --drop 0.01
  certspec gate old.onnx new.onnx --data fashionmnist/test --sigma 0.25 --radius 0.25 --by-class --drop 0.05`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usagef("%s wants the old and the new model, got %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
	}
	cli.Group(cmd, cli.Model, func(f *cli.Flags) { f.Engine(&o.engine) })
	o.data.Flags(cmd)
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.SigmaFlag(&o.Sigma)
		f.Float64Var(&o.Radius, "radius", 0, "certified accuracy at this ℓ2 radius")
		f.IntVar(&o.MaxSamples, "n", 600, "maximum number of noise samples of an image")
		f.IntVar(&o.Selection, "n0", 20, "noise samples that choose the class")
		f.Float64Var(&o.Alpha, "alpha", stopping.DefaultAlpha, "bound on the probability that the claim on an image is false")
		f.NoiseFlag(&o.Noise)
		f.IntVar(&o.Block, "block", 20, "noise samples in one call of a model")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Float64Var(&o.Drop, "drop", 0.01, "drop of certified accuracy that is allowed")
		f.Float64Var(&o.Level, "level", 0.05, "probability of a wrong verdict")
		f.BoolVar(&o.byClass, "by-class", false, "test each class; --drop is that of a class")
		f.File(&o.file, "groups", "CSV file with the columns image (or idx) and a group: test each group", ".csv", ".tsv")
		f.Text(&o.column, "column", "column of --groups (default group)")
		f.IntVar(&o.Most, "images", 0, "maximum number of images to look at (default all)")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.Record, "file for the outcomes, from which the same gate goes on")
		f.Written(&o.junit, "junit", "file for a JUnit report", ".xml")
		f.Written(&o.statement, "statement", "file for an in-toto statement on the verdict, with --out", ".json", ".jsonl")
	})
	cli.Records(cmd, "out")
	o.json = cli.JSON(cmd)
	cli.First(cmd, "data", "sigma", "radius", "drop", "junit")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := o.run(cmd, args)
		var usage cli.UsageError
		if err == nil || errors.Is(err, errLost) || errors.Is(err, cli.ErrUndecided) || errors.Is(err, context.Canceled) ||
			errors.As(err, &usage) {
			return err
		}
		return cli.NoVerdict{Err: err}
	}
	return cmd
}

// errLost is the verdict that a change fails.
var errLost = errors.New("has lost certified accuracy")

func (o *options) run(cmd *cobra.Command, args []string) error {
	if err := cli.Needed(cmd, "data", "sigma", "radius"); err != nil {
		return err
	}
	if err := cli.NotZero(cmd, "n", "n0", "alpha", "level", "block", "images"); err != nil {
		return err
	}
	if o.statement != "" && o.Record == "" {
		return cli.Usagef("--statement without --out: a statement is on the file of the outcomes")
	}
	switch {
	case o.byClass && o.file != "":
		return cli.Usagef("--by-class and --groups: the groups are classes, or those of a file")
	case o.column != "" && o.file == "":
		return cli.Usagef("--column without --groups, the file that has it")
	}
	if _, err := gate.New(1, o.Drop, o.Level); err != nil {
		return cli.Wrong(err)
	}
	data, err := o.data.Open()
	if err != nil {
		return err
	}
	images, err := data.Index(cmd.Context(), nil)
	if err != nil {
		return err
	}
	if o.byClass {
		o.Grouping = gate.ByClass(images)
	} else if o.file != "" {
		if o.Grouping, err = gate.ByFile(o.file, cmp.Or(o.column, "group"), images); err != nil {
			return cli.Wrong(err)
		}
	}
	var models [2]classifier.Classifier
	for i, path := range args {
		m, err := cli.OpenModel(path, engine.Backend(o.engine))
		if err != nil {
			return err
		}
		defer m.Close()
		models[i] = m
	}
	in := cli.Input{Model: models[0], Data: data}
	some, err := in.Some(cmd.Context(), rs.Shard{})
	if err != nil {
		return err
	}
	for _, m := range models {
		use := preflight.Use{Sigma: o.Sigma, Noise: o.Noise, Block: o.Block, Each: o.Selection}
		if _, err := cli.LookFirst(cmd.Context(), m, some, use); err != nil {
			return err
		}
	}
	o.warnOfDrop(images.Labels)
	o.Progress = cli.Progress()
	out, err := gate.Run(cmd.Context(), models[0], models[1], images, o.Options)
	if err == nil {
		return o.report(cmd, out, args[1])
	}
	if out.Test != nil && out.Verdict != gate.Undecided {
		o.statement = "" // it is on the record, which lacks outcomes
		return errors.Join(o.report(cmd, out, args[1]), err)
	}
	return cli.Usage(err)
}

// warnOfDrop says where the allowed drop is less than one image, and which groups have none.
func (o *options) warnOfDrop(labels []int) {
	sizes, small := map[string]int{}, []string{}
	for i, label := range labels {
		switch {
		case label >= 0 && o.Grouping != nil:
			sizes[o.Grouping.Of[i]]++
		case label >= 0:
			sizes[""]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if lost := o.Drop * float64(sizes[name]); lost > 0 && lost < 1 {
			small = append(small, name)
		}
	}
	switch {
	case len(small) > 0 && o.Grouping == nil:
		cli.Say("warning: --drop %g of %d labelled images is less than one image: no loss at all is allowed", o.Drop,
			sizes[""])
	case len(small) > 0:
		cli.Say("warning: --drop %g is less than one image in %d of %d groups: no loss at all is allowed there: %s",
			o.Drop, len(small), len(sizes), some(small))
	}
	if o.Grouping != nil && len(o.Grouping.Empty) > 0 {
		cli.Say("warning: no labelled image, so no test, in these groups: %s", some(o.Grouping.Empty))
	}
}

// some are the first of many names.
func some(names []string) string {
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s, and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// report prints the verdict, whatever becomes of the files, and writes these.
func (o *options) report(cmd *cobra.Command, out gate.Outcome, changed string) error {
	seen, lost := out.Test.Seen, ""
	share := func(n int) string { return fmt.Sprintf("%.4f (%d of %d)", float64(n)/float64(max(seen, 1)), n, seen) }
	says := []string{fmt.Sprintf("%s after %d of %d images, net loss %d at radius %g; "+
		"a loss of %d of all is allowed; level %g",
		out.Verdict, seen, out.Images, out.Test.Sum, out.Radius, out.Test.Allowed, out.Level)}
	head := says[0]
	var shown any = "certified accuracy on the images seen: old " + share(out.OldCertified) + ", new " +
		share(out.NewCertified)
	if out.Groups != nil {
		head, shown, says, lost = grouped(out)
	}
	var err error
	if *o.json {
		err = cli.PrintJSON(cmd.OutOrStdout(), out)
	} else {
		_, err = cli.Fprintf(cmd.OutOrStdout(), "%s\n%v\n", head, shown)
	}
	if seen >= fewImages && out.OldCertified*out.Old.Classes <= seen {
		cli.Say("warning: the old model is certified as the label on %d of %d images, which guessing among %d classes "+
			"would reach: there is little to lose", out.OldCertified, seen, out.Old.Classes)
	}
	if o.junit != "" {
		err = errors.Join(err, atomicfile.To(o.junit, cmd.OutOrStdout(), func(w io.Writer) error {
			return junit(w, out, says)
		}))
	}
	if o.statement != "" && out.Verdict != gate.Undecided {
		text, e := attest.Gate(out, o.Record)
		if e == nil {
			e = atomicfile.Write(o.statement, text)
		}
		err = errors.Join(err, e)
	}
	switch {
	case out.Verdict == gate.Fail:
		return errors.Join(fmt.Errorf("%s %w%s", changed, errLost, lost), err)
	case err == nil && out.Verdict == gate.Undecided:
		return cli.ErrUndecided
	}
	return err
}

// fewImages say nothing of guessing.
const fewImages = 5

// grouped says how the groups fared: in all, in a table, each by itself, and which failed.
func grouped(out gate.Outcome) (head string, t *table.Table, says []string, lost string) {
	count, failed := map[gate.Verdict]int{}, []string{}
	for _, g := range out.Tested {
		if count[g.Verdict]++; g.Verdict == gate.Fail {
			failed = append(failed, g.Name)
		}
		says = append(says, fmt.Sprintf("%s after %d of %d images, net loss %d at radius %g; a loss of %d is allowed; "+
			"level %g, Holm over %d groups", g.Verdict, g.Seen, g.Images, g.Sum, out.Radius, g.Allowed, out.Level,
			len(out.Tested)))
	}
	t = table.New(out.Groups.By, "images seen", "old", "new", "net loss", "allowed", "verdict")
	rows := slices.Clone(out.Tested)
	slices.SortStableFunc(rows, func(a, b *gate.Group) int {
		return cmp.Or(strings.Compare(string(a.Verdict), string(b.Verdict)), b.Sum-a.Sum) // those that fail come first
	})
	for _, g := range rows {
		share := func(n int) table.Rounded {
			return table.Rounded{Value: float64(n) / float64(max(g.Seen, 1)), Decimals: 4}
		}
		t.Add(g.Name, fmt.Sprintf("%d of %d", g.Seen, g.Images), share(g.OldCertified), share(g.NewCertified), g.Sum,
			g.Allowed, string(g.Verdict))
	}
	t.Notes = []string{"old, new: certified accuracy on the images seen"}
	head = fmt.Sprintf("%s after %d of %d images at radius %g, by %s: %d groups pass, %d fail, %d undecided; level %g, "+
		"Holm over %d groups", out.Verdict, out.Test.Seen, out.Images, out.Radius, out.Groups.By, count[gate.Pass],
		count[gate.Fail], count[gate.Undecided], out.Level, len(out.Tested))
	return head, t, says, fmt.Sprintf(" in %s: %s", out.Groups.By, some(failed))
}

// junit writes a suite of one test case, or one for each group.
func junit(w io.Writer, out gate.Outcome, says []string) error {
	type message struct {
		Message string `xml:"message,attr"`
	}
	type testcase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *message `xml:"failure,omitempty"`
		Skipped *message `xml:"skipped,omitempty"`
		Output  string   `xml:"system-out,omitempty"`
	}
	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testcase `xml:"testcase"`
	}{Name: "certspec gate", Tests: len(says)}
	for i, text := range says {
		verdict, name := out.Verdict, fmt.Sprintf("certified accuracy at %g", out.Radius)
		if out.Groups != nil {
			verdict, name = out.Tested[i].Verdict, fmt.Sprintf("%s, %s %s", name, out.Groups.By, out.Tested[i].Name)
		}
		one := testcase{Class: out.New.Name, Name: name}
		switch verdict {
		case gate.Fail:
			suite.Failures++
			one.Failure = &message{text}
		case gate.Undecided:
			suite.Skipped++
			one.Skipped = &message{text}
		default:
			one.Output = text
		}
		suite.Cases = append(suite.Cases, one)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err == nil {
		_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	}
	return err
}
