package augment

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/internal/nearest"
)

// entry is an augmentation that Parse knows.
type entry struct {
	name, description string
	make              func() configurable
}

var registry = []entry{
	{"fouriermix", "chains of random amplitudes and phases of the spectrum, and of affine maps, mixed (Sun et al. 2021)",
		func() configurable { return &FourierMix{} }},
	{"augmix", "chains of operations on bytes, mixed (Hendrycks et al. 2019)",
		func() configurable { return &AugMix{} }},
	{"autoaugment", "one of 25 pairs of operations on bytes, the policy found on CIFAR-10 (Cubuk et al. 2019)",
		func() configurable { return &AutoAugment{} }},
	{"gaussian", "normal noise on half of the images, clipped to [0, 1] (Kireev et al. 2021)",
		func() configurable { return &gaussian{} }},
	{"crop", "a random window of the image, padded with zeros", func() configurable { return &crop{} }},
	{"flip", "mirrored left to right with probability one half", func() configurable { return &Flip{} }},
	{"quantize", "clipped to [0, 1] and rounded to bytes", func() configurable { return &quantize{} }},
}

// Entry describes an augmentation.
type Entry struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Options     []Option `json:"options"` // with their defaults
}

// List describes all augmentations that Parse knows.
func List() []Entry {
	list := make([]Entry, len(registry))
	for i, e := range registry {
		list[i] = Entry{e.name, e.description, []Option{}}
		for _, f := range e.make().fields() {
			list[i].Options = append(list[i].Options, Option{f.key, f.text(), f.usage})
		}
	}
	return list
}

// New returns the augmentation of a name with options "key=value". An unknown name or option is an *OptionError that
// names the nearest.
func New(name string, options ...string) (Augmentation, error) {
	names := make([]string, len(registry))
	for i, e := range registry {
		if names[i] = e.name; e.name != name {
			continue
		}
		c := e.make()
		for _, option := range options {
			key, text, found := strings.Cut(option, "=")
			if !found {
				return nil, &OptionError{name, fmt.Sprintf("option %q", option), "key=value"}
			}
			if err := set(name, c.fields(), strings.TrimSpace(key), strings.TrimSpace(text)); err != nil {
				return nil, err
			}
		}
		a := c.value()
		if v, ok := a.(interface{ check() error }); ok {
			return a, v.check()
		}
		return a, nil
	}
	return nil, &OptionError{"", fmt.Sprintf("unknown augmentation %q", name),
		fmt.Sprintf("%q (the nearest); there are %s", nearest.Of(name, names), strings.Join(names, ", "))}
}

// Parse reads what String writes: "fouriermix(real_mode=abs,chains=2)+crop+flip". Several parts are a Chain.
func Parse(text string) (Augmentation, error) {
	var chain Chain
	for part := range strings.SplitSeq(text, "+") {
		name, rest, bracket := strings.Cut(strings.TrimSpace(part), "(")
		var options []string
		if bracket {
			inner, found := strings.CutSuffix(rest, ")")
			if !found {
				return nil, &OptionError{name, fmt.Sprintf("%q has no closing bracket", part),
					"name(key=value,key=value)"}
			}
			options = strings.Split(inner, ",")
		}
		a, err := New(name, options...)
		if err != nil {
			return nil, err
		}
		chain = append(chain, a)
	}
	if len(chain) == 1 {
		return chain[0], nil
	}
	return chain, nil
}
