package lines

// Grouping says which models one column of a table holds, and how lines go through them.
type Grouping struct {
	Title  string
	Groups []Group
	// the label whose values get a line each, of which the table shows the mean; "": one line
	// through all
	Lines  string
	Shifts []string // the rows, fields that hold accuracies under a shift
	ID     string   // the accuracy without shift

	Predictors []Predictor // the rows of each shift; nil: the eight of the paper
}

// Group is a column of a table.
type Group struct {
	Name string
	Keep func(Model) bool
}

// The seven sets of the tables in the main text, and the other corruptions of the appendix (A.10),
// in the paper's order.
var (
	mainShifts = []string{"cifar10.1_acc", "brightness", "contrast", "defocus_blur", "pixelate", "gaussian_noise",
		"impulse_noise"}
	otherShifts = []string{"snow", "frost", "fog", "motion_blur", "zoom_blur", "glass_blur", "elastic_transform",
		"jpeg_compression", "shot_noise", "cifar10c_acc"}
)

// ByPruning is table 1 of Fridovich-Keil et al. 2022: models trained without augmentation, by kind of pruning. The
// dense models count with the rewinding tickets alone, as the printed numbers show.
var ByPruning = Grouping{
	Title: "Models pruned, by kind of pruning (table 1 of Fridovich-Keil et al. 2022)",
	Groups: []Group{
		{"Traditional", prunedBy(false, "FT", "GMP")},
		{"Rewinding LT", prunedBy(true, "lrr", "lth")},
		{"Initialization LT", prunedBy(false, "biprop", "edgepopup")},
	},
	Lines: "architecture", Shifts: mainShifts, ID: "cifar10_acc",
}

// ByAugmentation is table 2 of the same paper: all prunings and the dense models, by augmentation.
var ByAugmentation = Grouping{
	Title: "Models by augmentation (table 2 of Fridovich-Keil et al. 2022)",
	Groups: []Group{
		{"clean", labelled("augmentation", "clean")},
		{"AugMix", labelled("augmentation", "augmix")},
		{"Gaussian", labelled("augmentation", "gaussian")},
	},
	Lines: "architecture", Shifts: mainShifts, ID: "cifar10_acc",
}

// ByCLIP is table 3 (printed as table 4) of the same paper: ImageNet models, one pooled line a group.
var ByCLIP = Grouping{
	Title: "ImageNet models (table 3, printed as table 4, of Fridovich-Keil et al. 2022)",
	Groups: []Group{
		{"All", func(m Model) bool { return m.Labels["group"] != "other" }},
		{"CLIP", labelled("group", "clip")},
		{"Non-CLIP", func(m Model) bool { g := m.Labels["group"]; return g == "torchvision" || g == "robustness" }},
	},
	Shifts: []string{"imagenetv2", "imagenet-r", "objectnet", "imagenet-a", "imagenet-sketch", "contrast",
		"defocus_blur", "gaussian_noise"},
	ID: "val",
}

// For returns the grouping for results that are not complete. It leaves out the shifts that no model has and the groups
// of fewer than three models, and names both. Where nothing would be left, it returns the grouping unchanged.
func (g Grouping) For(models Models) (kept Grouping, left []string) {
	kept = g
	kept.Shifts, kept.Groups = nil, nil
	for _, shift := range g.Shifts {
		if models.needField(shift) == nil {
			kept.Shifts = append(kept.Shifts, shift)
		} else {
			left = append(left, shift)
		}
	}
	for _, group := range g.Groups {
		one := kept
		one.Groups = []Group{group}
		if _, err := Tabulate(models, one, Clip{Share: 1e-9}); err == nil {
			kept.Groups = append(kept.Groups, group)
		} else {
			left = append(left, group.Name)
		}
	}
	if len(kept.Shifts) == 0 || len(kept.Groups) == 0 {
		return g, nil
	}
	return kept, left
}

// Appendix is the same grouping over the corruptions that the paper leaves to its appendix (A.10).
func (g Grouping) Appendix() Grouping {
	g.Shifts = otherShifts
	return g
}

func prunedBy(dense bool, methods ...string) func(Model) bool {
	return func(m Model) bool {
		if m.Labels["augmentation"] != "clean" || !dense && m.Labels["method"] == "dense" {
			return false
		}
		if m.Labels["method"] == "dense" {
			return true
		}
		for _, method := range methods {
			if m.Labels["method"] == method {
				return true
			}
		}
		return false
	}
}

func labelled(label, value string) func(Model) bool {
	return func(m Model) bool { return m.Labels[label] == value }
}

// Predictor is a number that may predict accuracy under a shift, with the name that the paper prints.
type Predictor struct{ Field, Name string }

// Predictors are the eight of the paper; ID stands for a grouping's accuracy without shift.
var Predictors = []Predictor{
	{"", "ID accuracy"},
	{"jacobian_norm", "Jacobian"},
	{"high_freq_fracs_within", "Pixel - within"},
	{"high_freq_fracs_between", "Pixel - between"},
	{"high_freq_fracs_amp", "Amp - HFF"},
	{"consistent_distances_amp", "Amp - CD"},
	{"high_freq_fracs_phase", "Phase - HFF"},
	{"consistent_distances_phase", "Phase - CD"},
}
