package method

import (
	"errors"

	"github.com/certspec/certspec/internal/choice"
	"github.com/certspec/certspec/internal/gomlxmodels/former"
)

var registry = choice.Registry[Method]{Kind: "method", Check: Check}

// init registers all methods. Defaults of their options come from the works named, at σ = 0.25
// on CIFAR-10.
func init() {
	smoothAdv := attackOptions{Noises: 8, Epsilon: 255. / 256, Steps: 2, Rate: 1, WarmUp: 10}
	act := attackOptions{Noises: 8, Epsilon: 255. / 256, Steps: 2, Rate: 1, WarmUp: 3}
	published := uniformOptions{relaxedOptions: relaxedOptions{Growth: 1.5, Rho: 0.01, StepA: 0.01}}

	Register("cross-entropy of one noisy view (Cohen et al. 2019)", gaussian{Share: All})
	Register("consistency of the predictions under several noises (Jeong and Shin 2020)", consistency{Noises: 2,
		Lambda: 20, Eta: 0.5})
	Register("Jensen-Shannon divergence of an image and its augmented views (Hendrycks et al. 2019)",
		jsd{Views: 3, Weight: 12, Share: HalfExact})
	Register("hierarchical consistency over augmented views and noises (Sun et al. 2021)", hcr{Views: 3, Noises: 2,
		Lambda: 40, Eta: 10})
	Register("attacks on the smoothed classifier (Salman et al. 2019)", smoothAdvers{smoothAdv})
	Register("the certified radius in the loss (Zhai et al. 2020)", macer{Noises: 16, Lambda: 12, Gamma: 8, Beta: 16})
	Register("attacks on the Brier score (Emde et al. 2025)", brierACT{act})
	Register("attacks on the relaxed certified calibration error (Emde et al. 2025)", acceACT{act, published})
	Register("the same, with the calibration error in the loss", acceACTStar{act, published, 1e-3})
	Register("acce-act from the exact solution of the batch",
		exactStart{attackOptions: act, relaxedOptions: relaxedOptions{Growth: 1.1,
			Rho: 0.01, StepA: 0.1}})
	Register("attacks on the certified calibration error, solved exactly", exactACT{attackOptions: act})
	Register("a constant push of all confidences, to compare adversaries of calibration with", pushACT{attackOptions: act})

	Register("easy or worst noise samples by how sure the network is (Jeong et al. 2023)", catRS{Noises: 4, Epsilon: 1,
		Steps: 4, Lambda: 0.5})
	Register("images mixed with attacked ones (Jeong et al. 2021)", smoothMix{Noises: 2, Steps: 4, Alpha: 0.5, Eta: 5,
		WarmUp: 10})

	Register("a denoiser in front of a network that stays as it is (Salman et al. 2020)", denoise{Channels: 16,
		Labels: 1, Squares: 100})

	// Those that learn from out-images: for runs of a few dozen epochs on images of 28×28 pixels.
	out, ball := outlierOptions{Kappa: 0.3, KappaOver: 5}, ballOptions{Epsilon: 0.1, EpsilonStart: 1, EpsilonOver: 6}
	Register("cross-entropy of the images as they are", plain{})
	Register("lower confidence of out-images (Hein et al. 2019)", ceda{out})
	Register("uniform predictions of out-images (Hendrycks et al. 2019)", oe{out})
	Register("uniform predictions of attacked out-images (Hein et al. 2019)", acet{out, ball, 40})
	Register("bounded confidence around out-images (Bitterwolf et al. 2020)", good{Quantile: 80, outlierOptions: out,
		ballOptions: ball})
	Register("attacked and bounded out-images, a weight for each", mixed{0.5, out, ball, 40, false})
	Register("a classifier beside Gaussian mixtures (Meinke and Hein 2020)",
		ccu{outlierOptions: out, Density: 1, Rate: 0.002,
			Metric: "singular", Rounds: 10, Images: 5000})
	Register("any classifier beside a bounded discriminator (Meinke et al. 2022)",
		prood{outlierOptions: outlierOptions{Kappa: 1, KappaOver: 5}, ballOptions: ball})
}

// defaultName is the name of the method that New takes for an empty name.
const defaultName = "gaussian"

// Entry describes a method.
type Entry struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Options     []Option `json:"options"` // with their defaults
}

// Option is one option of a method as text.
type Option struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Usage string `json:"usage"`
}

// OptionError is an unknown method or option, or an invalid value for the option.
type OptionError struct {
	Kind     string // "method"
	Name     string // of the method; empty if it is itself unknown
	What     string
	Expected string
}

func (e *OptionError) Error() string { return (*choice.Error)(e).Error() }

// public makes an error of the registry one that a caller can name.
func public(m Method, err error) (Method, error) {
	if of, ok := errors.AsType[*choice.Error](err); ok {
		return m, (*OptionError)(of)
	}
	return m, err
}

// Register adds a method of your own, whose fields are the defaults of its options. It panics if another has its name.
func Register(description string, m Method) { registry.Register(description, m) }

// List describes all methods that New knows.
func List() (list []Entry) {
	for _, of := range registry.List() {
		e := Entry{of.Name, of.Description, make([]Option, len(of.Options))}
		for i, o := range of.Options {
			e.Options[i] = Option(o)
		}
		list = append(list, e)
	}
	return list
}

// Names lists the methods that New knows.
func Names() []string { return registry.Names() }

// New is the method of a name with options "key=value" in place of its defaults.
func New(name string, set ...string) (Method, error) {
	return public(registry.New(orDefault(name), set...))
}

// With is New with options as a card has them.
func With(name string, options map[string]any) (Method, error) {
	name, options = former.Method(orDefault(name), options)
	return public(registry.With(name, options))
}

func orDefault(name string) string {
	if name == "" {
		return defaultName
	}
	return name
}

// Options are the fields of a method as they stand on a card.
func Options(m Method) (map[string]any, error) { return choice.Options("method", m) }
