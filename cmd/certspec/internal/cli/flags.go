package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/certspec/certspec/internal/nearest"
)

// Groups of flags, in the order of help.
const (
	Model    = "Model"
	Data     = "Data"
	Noise    = "Noise and rule"
	Training = "Training"
	Settings = "Settings"
	Output   = "Output"
)

var groups = []string{Model, Data, Noise, Training, Settings, Output}

// The annotations of a flag: its group, and what stands at its path.
const (
	groupKey = "certspec_group"
	outKey   = "certspec_out"
)

// Flags adds flags of one group to a command. Each says how its values are completed: numbers not
// at all, the others by the method that adds them.
type Flags struct {
	*pflag.FlagSet
	cmd       *cobra.Command
	completed map[string]cobra.CompletionFunc
}

// Completing says that a shell asks how a line goes on. Only then flags have functions for that:
// cobra never forgets one, nor the command behind it.
var Completing = len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "__complete")

// Group adds to a command the flags that add adds.
func Group(cmd *cobra.Command, group string, add func(f *Flags)) {
	if !slices.Contains(groups, group) {
		panic("cli: unknown group " + group)
	}
	f := &Flags{pflag.NewFlagSet(group, pflag.ContinueOnError), cmd, map[string]cobra.CompletionFunc{}}
	f.SortFlags = false
	add(f)
	all := cmd.Flags()
	all.SortFlags = false
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Annotations == nil {
			flag.Annotations = map[string][]string{}
		}
		flag.Annotations[groupKey] = []string{group}
		all.AddFlag(flag)
		complete := f.completed[flag.Name]
		if complete == nil && flag.Value.Type() != "string" {
			complete = cobra.NoFileCompletions
		}
		if complete != nil && Completing {
			if err := cmd.RegisterFlagCompletionFunc(flag.Name, complete); err != nil {
				panic("cli: " + err.Error())
			}
		}
	})
}

// JSON adds --json.
func JSON(cmd *cobra.Command) *bool {
	var v bool
	Group(cmd, Output, func(f *Flags) { f.BoolVar(&v, "json", false, "print JSON on standard output") })
	return &v
}

// Out adds --out, -o, a file to write in one of the forms; see checkForm. Without forms it is a record
// of ours, which may have any name but one that says another form.
func (f *Flags) Out(p *string, usage string, forms ...string) { f.out(p, "file", usage, forms) }

// OutPath adds --out, -o, a file or folder to write to.
func (f *Flags) OutPath(p *string, usage string) { f.out(p, "file or folder", usage, nil) }

// OutFolder adds --out, -o, a folder to write to.
func (f *Flags) OutFolder(p *string, usage string) { f.out(p, "folder", usage, nil) }

func (f *Flags) out(p *string, kind, usage string, forms []string) {
	f.StringVarP(p, "out", "o", "", usage)
	f.written("out", kind, forms)
}

// written marks a flag as one that names what is written, in one of the forms.
func (f *Flags) written(name, kind string, forms []string) {
	f.SetAnnotation(name, outKey, append([]string{kind}, forms...))
	f.completed[name] = paths(kind == "folder")
}

// Outs is Out for several files.
func (f *Flags) Outs(p *[]string, usage string, forms ...string) {
	f.StringArrayVarP(p, "out", "o", nil, usage)
	f.written("out", "file", forms)
}

// File adds a flag that names a file to read, with one of the endings, or with any.
func (f *Flags) File(p *string, name, usage string, endings ...string) {
	f.StringVar(p, name, "", usage)
	f.completed[name] = paths(false, endings...)
}

// Written adds a flag that names a further file to write, in one of the forms.
func (f *Flags) Written(p *string, name, usage string, forms ...string) {
	f.StringVar(p, name, "", usage)
	f.written(name, "file", forms)
}

// Writes marks a flag that is there as one whose file or folder the verb writes.
func (f *Flags) Writes(name, kind string) { f.SetAnnotation(name, outKey, []string{kind}) }

// Folder adds a flag that names a folder.
func (f *Flags) Folder(p *string, name, usage string) {
	f.StringVar(p, name, "", usage)
	f.completed[name] = paths(true)
}

// Text adds a flag that takes any words.
func (f *Flags) Text(p *string, name, usage string) {
	f.StringVar(p, name, "", usage)
	f.completed[name] = cobra.NoFileCompletions
}

// Texts adds a flag that takes any words and may be given several times.
func (f *Flags) Texts(p *[]string, name, usage string) {
	f.StringArrayVar(p, name, nil, usage)
}

// Named adds a flag that takes a name, of which some are known.
func (f *Flags) Named(p *string, name, standard, usage string, known func() []string) {
	f.StringVar(p, name, standard, usage)
	f.Complete(name, known)
}

// Known refuses the value of a flag that is none of the known ones.
func Known(cmd *cobra.Command, name string, known []string) error {
	if value := cmd.Flags().Lookup(name).Value.String(); !slices.Contains(known, value) {
		return Usagef("--%s %s: expected %s%s", name, value, List(known), nearest.DidYouMean(value, known))
	}
	return nil
}

// Complete says which values of a flag are known; nil: none. The shell adds no blank behind one
// that ends in a colon, a slash or an equals sign.
func (f *Flags) Complete(name string, known func() []string) {
	if known == nil {
		f.completed[name] = cobra.NoFileCompletions
		return
	}
	f.completed[name] = func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		// Of a list, the last word is completed.
		before, word := "", typed
		if flag := f.Lookup(name); flag != nil && flag.Value.Type() != "string" {
			if i := strings.LastIndexByte(typed, ','); i >= 0 {
				before, word = typed[:i+1], typed[i+1:]
			}
		}
		var found []cobra.Completion
		directive := cobra.ShellCompDirectiveNoFileComp
		for _, k := range known() {
			if k != "" && strings.HasPrefix(k, word) {
				found = append(found, before+k)
				if strings.ContainsAny(k[len(k)-1:], ":/=") {
					directive |= cobra.ShellCompDirectiveNoSpace
				}
			}
		}
		return found, directive
	}
}

// Choice adds a flag that takes one of some words.
func Choice[T ~string](f *Flags, p *T, name string, standard T, usage string, words ...T) {
	*p = standard
	f.Var(&choice[T]{p, words}, name, usage)
	f.Complete(name, func() []string {
		var all []string
		for _, w := range words {
			all = append(all, string(w))
		}
		return all
	})
}

// choice is the value of a flag that takes one of some words.
type choice[T ~string] struct {
	value *T
	words []T
}

// choiceError says which words a flag takes.
type choiceError struct{ text string }

func (e *choiceError) Error() string { return e.text }

func (c *choice[T]) Set(text string) error {
	var known []string
	for _, w := range c.words {
		if w != "" {
			known = append(known, string(w))
		}
	}
	if !slices.Contains(known, text) {
		return &choiceError{"expected " + List(known) + nearest.DidYouMean(text, known)}
	}
	*c.value = T(text)
	return nil
}

func (c *choice[T]) String() string {
	if c.value == nil {
		return ""
	}
	return string(*c.value)
}

func (c *choice[T]) Type() string { return "word" }

// List writes words as a sentence does: a, b or c.
func List(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Floats adds a flag that takes a list of numbers.
func (f *Flags) Floats(p *[]float64, name string, standard []float64, usage string) {
	*p = standard
	f.Var(&list[float64]{p, func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }, "floats"}, name,
		usage)
}

// Ints adds a flag that takes a list of whole numbers.
func (f *Flags) Ints(p *[]int, name string, standard []int, usage string) {
	*p = standard
	f.Var(&list[int]{p, strconv.Atoi, "ints"}, name, usage)
}

// Words adds a flag that takes a list of names, of which some are known; it may be given several times.
func (f *Flags) Words(p *[]string, name string, standard []string, usage string, known func() []string) {
	*p = standard
	f.Var(&words{list[string]{p, func(text string) (string, error) { return text, nil }, "words"}, false}, name, usage)
	f.Complete(name, known)
}

// list is the value of a flag that takes values with commas between them. The empty text is the empty list.
type list[T any] struct {
	values *[]T
	read   func(string) (T, error)
	kind   string
}

func (l *list[T]) Set(text string) error {
	values := []T{}
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		v, err := l.read(strings.TrimSpace(part))
		if err != nil {
			return errors.New("no " + l.kind)
		}
		values = append(values, v)
	}
	*l.values = values
	return nil
}

func (l *list[T]) String() string {
	if l.values == nil {
		return ""
	}
	var parts []string
	for _, v := range *l.values {
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, ",")
}

func (l *list[T]) Type() string { return l.kind }

// words adds up where it is given several times.
type words struct {
	list[string]
	given bool
}

func (w *words) Set(text string) error {
	before := *w.values
	if err := w.list.Set(text); err != nil {
		return err
	}
	if w.given {
		*w.values = append(before, *w.values...)
	}
	w.given = true
	return nil
}

// CheckRadii refuses what is no radius.
func CheckRadii(radii []float64) error {
	for _, r := range radii {
		if !(r >= 0) || math.IsInf(r, 0) {
			return Usagef("--radii %v: expected radii of at least 0", r)
		}
	}
	return nil
}

// OrNone turns a flag's 0 into the value by which options mean none.
func OrNone(v float64) float64 {
	if v == 0 {
		return -1
	}
	return v
}
