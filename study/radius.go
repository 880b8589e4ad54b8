package study

// init registers the quantities of certified radii and of the shares of noise samples behind them.
func init() {
	RegisterMean("acr", Radius, "radius", func(_, radius float64) float64 { return radius })
	RegisterMean("ca", Share, "radius", func(at, radius float64) float64 { return oneIf(radius >= at) })
	RegisterMean("share", Share, "share", func(least, share float64) float64 { return oneIf(share >= least) })
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
