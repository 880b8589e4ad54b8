package study

import "slices"

// init registers the quantities of certified radii and of the shares of noise samples behind them.
func init() {
	registerMean("acr", radius, "radius", func(_, radius float64) float64 { return radius })
	registerMean("ca", share, "radius", func(at, radius float64) float64 { return oneIf(radius >= at) })
	registerMean("share", share, "share", func(least, share float64) float64 { return oneIf(share >= least) })
}

// init registers the share of its clean radius that an image keeps on another set, of the images that are certified as
// they are. A radius that grows counts as kept.
func init() {
	registerMean(kept, share, kept, func(_, share float64) float64 { return share })
}

const kept = "kept"

// keptOf makes the column of what of the clean radii is kept; nil where no clean image is certified.
func keptOf(clean, other *Column) *Column {
	c := &Column{Key: Key{other.Network, other.Set, kept}}
	for i, image := range other.Images {
		k, ok := slices.BinarySearch(clean.Images, image)
		if !ok || clean.Marks[k] != "" || clean.Values[k] <= 0 {
			continue
		}
		share := 0.
		if other.Marks[i] == "" {
			share = min(1, other.Values[i]/clean.Values[k])
		}
		c.Images, c.Labels = append(c.Images, image), append(c.Labels, other.Labels[i])
		c.Values, c.Marks = append(c.Values, share), append(c.Marks, "")
	}
	if len(c.Images) == 0 {
		return nil
	}
	return c
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
