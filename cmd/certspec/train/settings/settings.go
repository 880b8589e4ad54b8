// Package settings holds the settings of a recipe as texts, for flags and their completion.
package settings

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/optimizer"
	"github.com/certspec/certspec/gomlxmodels/schedule"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/gomlxmodels/prune"
)

// Setting is one of a recipe as text, e.g. a flag of a command line: Set, String and Type are the methods of a flag's
// value.
type Setting struct {
	Name  string          // e.g. "weight-decay"
	Usage string          // one line
	Known func() []string // names that it takes, to complete a word; nil where it takes others

	to, standard reflect.Value
}

// usages say in a line what each setting is.
var usages = map[string]string{
	"net": "network",
	"input": "input layer: none, center, standardize (both by CIFAR-10 statistics), cifar10 (deviations of all" +
		" pixel values) or imagenet (standardized by ImageNet's)",
	"width":    "factor of the network's numbers of channels",
	"bias":     "convolutions with biases, too",
	"method":   "training method",
	"option":   "option of the method, as in lambda=20; may be given several times",
	"views":    "augmentation that makes views of an image, as in fouriermix, augmix, autoaugment",
	"views-by": "maker of the views: host (the faster on the CPU) or graph (on the device, for fouriermix)",
	"initial": "random weights to begin with: own (of the network's definition) or ibp (widths of intervals keep" +
		" their size)",
	"sigma":         "standard deviation of the noise, 1 = full range",
	"sigma-warm-up": "epochs over which the noise grows to sigma",
	"noise": "a grey mode besides, as certify has it: spectrum:grey@0=0.05, the standard deviation of a shift of all" +
		" values together",
	"epochs": "passes over the data",
	"batch":  "images in a step, each in all views and noises of the method",
	"rate":   "learning rate at the beginning",
	"schedule": "schedule of the rate: cosine (to zero), step (divided after each milestone), " +
		"triangular or constant",
	"schedule-option":  "option of the schedule, as in divide=5 or by=step; may be given several times",
	"milestones":       "epochs for --schedule step (default half and three quarters of the run)",
	"warm-up":          "epochs at a tenth of the rate at the beginning",
	"optimizer":        "sgd or adam",
	"optimizer-option": "option of the optimizer, as in beta2=0.99; may be given several times",
	"momentum":         "momentum of SGD",
	"nesterov":         "Nesterov's form of momentum",
	"weight-decay":     "coupled weight decay, on all parameters",
	"prune":            "pruning method",
	"prune-option":     "option of the pruning, as in layerwise=true; may be given several times",
	"sparsity":         "share of the weights that pruning makes zero, at least 0 and below 1",
	"augment": "none, crop-flip (zero padding by 4, random crop, horizontal flip of every view), crop, flip," +
		" random-resized-crop-flip (a part of 8 to 100 % in the size of the whole) or random-resized-crop; with" +
		" -shared behind it of the image, before its views are made",
	"seed": "seed of weights, order, crops, flips and noise",
}

// Of are the settings of a recipe, in its order, which set those of training.
func Of(o *train.Options) (list []*Setting) {
	known := map[string]func() []string{
		"net": nets.Names, "input": words(nets.Inputs), "initial": words(nets.Initials), "method": method.Names,
		"schedule": schedule.Names, "optimizer": optimizer.Names, "augment": words(train.Augmentations), "prune": prune.Names,
		"views-by": func() []string { return []string{string("host"), string("graph")} },
	}
	of, defaults := reflect.ValueOf(o).Elem(), reflect.ValueOf(train.Defaults())
	for i := range defaults.NumField() {
		f := defaults.Type().Field(i)
		name := f.Tag.Get("flag")
		if name == "-" {
			continue
		}
		if name == "" {
			name, _, _ = strings.Cut(f.Tag.Get("yaml"), ",")
			name = strings.ReplaceAll(name, "_", "-")
			if f.Type.Kind() == reflect.Map { // one option at a time
				name = strings.TrimSuffix(name, "s")
			}
		}
		k := &Setting{Name: name, Usage: usages[name], Known: known[name], to: of.FieldByName(f.Name),
			standard: defaults.Field(i)}
		if name == "net" || name == "method" || name == "prune" {
			k.Usage += ": " + strings.Join(k.Known(), ", ")
		}
		list = append(list, k)
	}
	return list
}

// words gives names of a type of their own as texts.
func words[T ~string](names func() []T) func() []string {
	return func() (texts []string) {
		for _, name := range names() {
			texts = append(texts, string(name))
		}
		return texts
	}
}

// Type of the value: string, int, uint, float, bool, ints, or setting (key=value).
func (k *Setting) Type() string {
	t := k.to.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return map[reflect.Kind]string{
		reflect.String: "string", reflect.Int: "int", reflect.Uint64: "uint", reflect.Float64: "float",
		reflect.Bool: "bool", reflect.Slice: "ints", reflect.Map: "setting",
	}[t.Kind()]
}

// String is the value, or what stands for it where it is unset; empty for none.
func (k *Setting) String() string {
	if k == nil || !k.to.IsValid() {
		return ""
	}
	v := k.to
	if v.IsZero() {
		v = k.standard
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if kind := v.Kind(); (kind == reflect.Slice || kind == reflect.Map || kind == reflect.Pointer) && v.IsZero() {
		return ""
	}
	return fmt.Sprint(v.Interface())
}

// Unset reports whether the recipe leaves the setting open, as also by a 0 where 0 is no value.
func (k *Setting) Unset() bool { return k.to.IsZero() }

// Set reads a value; of options one, as in key=value, besides those that are set already. On an error the setting stays
// as it was.
func (k *Setting) Set(text string) error {
	made := reflect.New(k.to.Type()).Elem()
	if k.to.Kind() == reflect.Map && !k.to.IsNil() {
		made.Set(k.to)
	}
	v := made
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	var err error
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int:
		var n int
		n, err = strconv.Atoi(text)
		v.SetInt(int64(n))
	case reflect.Uint64:
		var n uint64
		n, err = strconv.ParseUint(text, 10, 64)
		v.SetUint(n)
	case reflect.Float64:
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		v.SetFloat(x)
	case reflect.Bool:
		var yes bool
		yes, err = strconv.ParseBool(text)
		v.SetBool(yes)
	case reflect.Slice:
		var list []int
		for word := range strings.SplitSeq(text, ",") {
			n, e := strconv.Atoi(strings.TrimSpace(word))
			if e != nil {
				err = e
			}
			list = append(list, n)
		}
		v.Set(reflect.ValueOf(list))
	case reflect.Map:
		key, value, found := strings.Cut(text, "=")
		if !found {
			return fmt.Errorf("expected key=value")
		}
		if v.IsNil() {
			v.Set(reflect.ValueOf(map[string]any{}))
		}
		v.SetMapIndex(reflect.ValueOf(strings.TrimSpace(key)), reflect.ValueOf(plain(strings.TrimSpace(value))))
	}
	if err != nil {
		return fmt.Errorf("expected %s", map[string]string{
			"int": "a whole number", "uint": "a whole number of at least 0", "float": "a number",
			"bool": "true or false", "ints": "whole numbers, as in 10,20",
		}[k.Type()])
	}
	k.to.Set(made)
	return nil
}

// plain is a number or a truth value as such, and other words as they are.
func plain(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) == nil && slices.Contains([]reflect.Kind{reflect.Float64, reflect.Bool},
		reflect.ValueOf(v).Kind()) {
		return v
	}
	return text
}
