package plan

import (
	"cmp"
	"os"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/calib/mip"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/rs/heatmap"
	"github.com/certspec/certspec/ood"
)

// planner says what is to be done for a measure.
type planner interface {
	// jobs are those of a model that has no results yet, with Kind and Model set; none where there
	// is nothing to do for it.
	jobs(p *store.Place, m *recipe.Model) ([]Job, error)
	// done reports whether the results of a job are in the folder.
	done(p *store.Place, j Job) (bool, error)
	// cost adds what a job takes.
	cost(c *Costs, j Job) error
}

// The jobs of each measure, with its settings.
type (
	radiusJobs           struct{ recipe.Radius }
	calibrationJobs      struct{ *recipe.Calibration }
	confidenceAttackJobs struct{ *recipe.ConfidenceAttacks }
	agreementJobs        struct{}
	heatMapJobs          struct{ *recipe.HeatMap }
	evaluationJobs       struct{ *recipe.Evaluation }
	boundJobs            struct{ *recipe.Bound }
	attackJobs           struct{ *recipe.Attack }
	recordJobs           struct{ *recipe.Record }
)

// planners are the jobs of measures by their names.
var planners = map[string]func(recipe.Measure) planner{
	"radius":          func(m recipe.Measure) planner { return radiusJobs{m.(recipe.Radius)} },
	"calibration":     func(m recipe.Measure) planner { return calibrationJobs{m.(*recipe.Calibration)} },
	"ace":             func(m recipe.Measure) planner { return confidenceAttackJobs{m.(*recipe.ConfidenceAttacks)} },
	"agreement":       func(recipe.Measure) planner { return agreementJobs{} },
	recipe.HeatMapKey: func(m recipe.Measure) planner { return heatMapJobs{m.(*recipe.HeatMap)} },
	"evaluate":        func(m recipe.Measure) planner { return evaluationJobs{m.(*recipe.Evaluation)} },
	"bound":           func(m recipe.Measure) planner { return boundJobs{m.(*recipe.Bound)} },
	"attack":          func(m recipe.Measure) planner { return attackJobs{m.(*recipe.Attack)} },
	"record":          func(m recipe.Measure) planner { return recordJobs{m.(*recipe.Record)} },
}

func plannerOf(m recipe.Measure) planner { return planners[m.Name()](m) }

func (agreementJobs) jobs(p *store.Place, model *recipe.Model) ([]Job, error) {
	other := p.Reference(model)
	if other == nil || other.Results != "" || other.Test != model.Test { // the last: of other data
		return nil, nil
	}
	return []Job{{Kind: "agree", Model: model, With: []*recipe.Model{other}}}, nil
}

func (agreementJobs) done(p *store.Place, j Job) (bool, error) {
	for _, m := range append([]*recipe.Model{j.Model}, j.With...) {
		if of, err := store.ReadPredictions(p.Result(m, store.PredictionsFile)); of == nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (agreementJobs) cost(c *Costs, j Job) error {
	n, err := c.Size(c.Images(j.Model, "agreement"))
	if err != nil {
		return err
	}
	return c.Samples(j.Model, n, n)
}

func (confidenceAttackJobs) jobs(_ *store.Place, model *recipe.Model) ([]Job, error) {
	if model.File != "" {
		return nil, nil
	}
	return []Job{{Kind: "attack", Model: model}}, nil
}

func (a confidenceAttackJobs) done(p *store.Place, j Job) (bool, error) {
	var found store.ConfidenceAttacks
	ok, err := store.ReadJSON(p.Result(j.Model, store.AttacksFile), &found)
	return ok && found.Epsilon == a.Epsilon, err
}

func (confidenceAttackJobs) cost(c *Costs, j Job) error {
	t := c.Manifest.Tier.Attack
	n, err := c.Size(recipe.Select(j.Model.Test, t.Images))
	if err != nil {
		return err
	}
	return c.Training(j.Model, 4*n*float64(cmp.Or(t.Steps, recipe.ConfidenceAttackSteps)+1))
}

func (calibrationJobs) jobs(_ *store.Place, model *recipe.Model) ([]Job, error) {
	return []Job{{Kind: "calibrate", Model: model}}, nil
}

func (c calibrationJobs) done(p *store.Place, j Job) (bool, error) {
	var found store.Calibration
	ok, err := store.ReadJSON(p.Result(j.Model, store.CalibrationFile), &found)
	return ok && found.Has(c.Radii), err
}

func (m calibrationJobs) cost(c *Costs, j Job) error {
	t := c.Manifest.Tier.Calibration
	n, err := c.Size(recipe.Select(j.Model.Test, c.Manifest.Tier.ConfidenceImages(j.Model.Data)))
	if err != nil {
		return err
	}
	c.Searches(len(m.Radii) * len(mip.Grid(nil)))
	return c.Certify(j.Model, n, t.Certify.Options(j.Model.Noise()))
}

func (evaluationJobs) jobs(_ *store.Place, m *recipe.Model) ([]Job, error) {
	return []Job{{Kind: "evaluate", Model: m}}, nil
}

func (evaluationJobs) done(p *store.Place, j Job) (bool, error) {
	var found []store.Evaluated
	return store.ReadJSON(p.Result(j.Model, store.EvaluateFile), &found)
}

func (e evaluationJobs) cost(c *Costs, j Job) error {
	cells, err := e.Cells(c.Manifest.Tier)
	if err != nil {
		return err
	}
	n, err := c.Size(c.Images(j.Model, "evaluate"))
	if err != nil {
		return err
	}
	return c.Samples(j.Model, n*float64(len(cells)), n*float64(len(cells)))
}

func (heatMapJobs) jobs(_ *store.Place, model *recipe.Model) ([]Job, error) {
	return []Job{{Kind: recipe.HeatMapKey, Model: model}}, nil
}

func (m heatMapJobs) done(p *store.Place, j Job) (bool, error) {
	var found heatmap.Result
	ok, err := store.ReadJSON(p.Result(j.Model, store.HeatMapFile), &found)
	return ok && found.Map != nil && found.Epsilon == m.Epsilon, err
}

func (m heatMapJobs) cost(c *Costs, j Job) error {
	n, err := c.Size(recipe.Select(j.Model.Test, m.Images))
	if err != nil {
		return err
	}
	o := m.Options(c.Manifest.Tier, j.Model)
	half := (len(o.Frequencies)*len(o.Frequencies) + 1) / 2 // the others are mirrored
	return c.Certify(j.Model, n*float64(half), o.Run)
}

const certifyJob = "certify"

func (m radiusJobs) jobs(p *store.Place, model *recipe.Model) (jobs []Job, err error) {
	cells, err := p.Manifest.Tier.Cells(m.Radius)
	for _, c := range cells {
		jobs = append(jobs, Job{Kind: certifyJob, Model: model, Part: c.String(), Cell: c})
	}
	return jobs, err
}

func (radiusJobs) done(p *store.Place, j Job) (bool, error) {
	if closed, err := store.LedgerClosed(store.LedgerPath(p.Folder, j.Model, j.Cell)); closed || err != nil {
		return closed, err
	}
	radii, err := store.ReadRadii(p.Result(j.Model, ".csv"))
	return err == nil && radii.Outcomes(j.Part) != nil, err
}

func (radiusJobs) cost(c *Costs, j Job) error {
	name, _ := c.Manifest.ImagesOf(j.Model, j.Cell)
	n, err := c.Size(name)
	if err != nil {
		return err
	}
	return c.Certify(j.Model, n, c.Manifest.Tier.Certify.Options(j.Model.Noise()))
}

func (r recordJobs) jobs(p *store.Place, model *recipe.Model) ([]Job, error) {
	if model.Adapt != nil {
		return nil, nil // it has a network for each corruption
	}
	_, err := r.Cells(p.Manifest.Tier)
	return []Job{{Kind: "record", Model: model}}, err
}

func (r recordJobs) done(p *store.Place, j Job) (bool, error) {
	_, err := os.Stat(p.Result(j.Model, store.RecordFile))
	if os.IsNotExist(err) {
		return false, nil
	}
	return err == nil, err
}

// cost counts images through the network, and those of gradients as images through training.
func (r recordJobs) cost(c *Costs, j Job) error {
	cells, err := r.Cells(c.Manifest.Tier)
	if err != nil {
		return err
	}
	n, err := c.Size(c.Images(j.Model, "record"))
	if err != nil {
		return err
	}
	t := c.Manifest.Tier.Record
	pairs := cmp.Or(float64(t.Pairs), min(5000, n/2))
	pixel, jacobian := cmp.Or(float64(t.PixelPairs), 200), cmp.Or(float64(t.JacobianImages), min(400, n))
	const classes, points, pixelPoints = 10, 100, 50 // the last about so many, by the distance of the images
	images := n*float64(1+len(cells)) + 2*pairs*points + pixel*(classes+classes*(classes-1)/2)*pixelPoints
	for _, set := range r.Placed {
		n, err := c.Size(set.Images)
		if err != nil {
			return err
		}
		images += n
	}
	if err := c.Samples(j.Model, images, images); err != nil {
		return err
	}
	return c.Training(j.Model, 2*jacobian*classes)
}

// foreignJobs are one for each foreign set of a model with a network of its own; nothing for other
// kinds of data.
func foreignJobs(d recipe.ForeignData, kind string, m *recipe.Model) (all []Job) {
	if m.Adapt != nil {
		return nil
	}
	for _, name := range d[m.Data].Foreign {
		all = append(all, Job{Kind: kind, Model: m, Part: recipe.SetName(name)})
	}
	return all
}

func (a attackJobs) jobs(p *store.Place, m *recipe.Model) ([]Job, error) {
	all := foreignJobs(a.Sets, "attack", m)
	for i := range all {
		all[i].stage = 1 // they take long: first, all networks have their bounds
	}
	var others []*recipe.Model
	for _, l := range p.Table.Lines {
		for _, name := range l.Models {
			if o := p.Manifest.Model(name); o.Data == m.Data && name != m.Name && o.Adapt == nil && o.Results == "" {
				others = append(others, o)
			}
		}
	}
	if len(others) > 0 {
		for _, j := range foreignJobs(a.Sets, recipe.TransferJob, m) {
			j.With, j.stage = others, 2
			all = append(all, j)
		}
	}
	return all, nil
}

func (a attackJobs) done(p *store.Place, j Job) (bool, error) {
	f, _ := a.Foreign().Set(j.Model.Data, j.Part)
	open, err := store.Unfinished(store.ScoresPath(f, p.Folder, j.Model, j.Part, a.Ending(j.Kind)))
	if !open || err != nil {
		return !open, err
	}
	kept, err := store.ReadSetAreas(f, p.Folder, j.Model.Data, j.Part)
	n := kept.Network(j.Model.Name)
	return n != nil && n.Attack != nil && (n.Transfer || j.Kind != recipe.TransferJob), err
}

func (a attackJobs) cost(c *Costs, j Job) error {
	f, at := a.Foreign().Set(j.Model.Data, j.Part)
	n, err := c.Size(recipe.Select(f.Images[at], f.Attack))
	if err != nil {
		return err
	}
	t := c.Manifest.Tier.Adversary
	o := ood.AttackOptions{Attacks: t.Attacks, Steps: t.Steps, Restarts: t.Restarts, Monotone: t.Monotone}
	transfers := 0
	if j.Kind == recipe.TransferJob {
		o.Attacks, transfers = []string{}, len(j.With)
		if t.Transfer > 0 {
			transfers = min(transfers, t.Transfer)
		}
	}
	points, err := o.Evaluations(classes, transfers)
	if err != nil {
		return err
	}
	return c.Layers(j.Model, n*float64(points))
}

// classes are as many as most sets have.
const classes = 10

func (b boundJobs) jobs(_ *store.Place, m *recipe.Model) ([]Job, error) {
	kind := "bound"
	if way := b.Way(); way != "" {
		kind += "-" + way
	}
	return foreignJobs(b.Sets, kind, m), nil
}

func (b boundJobs) done(p *store.Place, j Job) (bool, error) {
	f, _ := b.Foreign().Set(j.Model.Data, j.Part)
	open, err := store.Unfinished(store.OwnScoresPath(p.Folder, j.Model), store.ScoresPath(f,
		p.Folder, j.Model, j.Part, recipe.BoundEnds),
		store.ScoresPath(f, p.Folder, j.Model, j.Part, f.BoundEnding()))
	if !open || err != nil {
		return !open, err
	}
	kept, err := store.ReadSetAreas(f, p.Folder, j.Model.Data, j.Part)
	n := kept.Network(j.Model.Name)
	return n != nil && n.Bound != nil, err
}

func (b boundJobs) cost(c *Costs, j Job) error {
	f, at := b.Sets.Set(j.Model.Data, j.Part)
	n, err := c.Size(f.Images[at])
	if err != nil {
		return err
	}
	const passes = 6. // gradients, of many points side by side, in the time of intervals
	if open, err := store.Unfinished(store.ScoresPath(f, c.Folder, j.Model, j.Part, recipe.BoundEnds)); err != nil {
		return err
	} else if open {
		if err := c.Layers(j.Model, n*passes); err != nil {
			return err
		}
	}
	if b.Way() == "" {
		return nil
	}
	if n, err = c.Size(recipe.Select(f.Images[at], b.Images)); err != nil {
		return err
	}
	if b.BoundMethod() != feedforward.IBP {
		n *= 25 // CROWN has a walk for each pair of classes
	}
	return c.Layers(j.Model, n*passes)
}
