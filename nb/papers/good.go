package papers

import "github.com/certspec/certspec/nb"

// GOOD is what Bitterwolf, Meinke and Hein 2020 report for MNIST: AUC / AAUC / GAUC in percent (tables 1 and 8 with ε = 0.3, 9 with 0.4), and mean
// confidence / mean bound (table 4).
func GOOD() *nb.Tabular {
	t := nb.Columns("published, MNIST", "Plain", "OE", "GOOD 40", "GOOD 80", "GOOD 100")
	for _, row := range [][]any{
		{"table 1, FashionMNIST", "98.0 / 34.2 / 0.0", "99.9 / 76.8 / 0.0", "99.8 / 88.0 / 29.1", "99.8 / 90.3 / 55.5", "100.0 / 96.5 / 78.0"},
		{"table 1, EMNIST Letters", "88.0 / 31.4 / 0.0", "92.7 / 50.9 / 0.0", "95.7 / 56.6 / 0.0", "97.9 / 63.1 / 3.4", "99.0 / 53.8 / 3.3"},
		{"table 1, grey CIFAR-10", "98.8 / 36.6 / 0.0", "100.0 / 92.4 / 0.0", "100.0 / 97.7 / 65.2", "100.0 / 98.4 / 94.7", "100.0 / 99.9 / 99.4"},
		{"table 1, uniform noise", "99.1 / 36.5 / 0.0", "100.0 / 100.0 / 0.0", "100.0 / 100.0 / 100.0", "100.0 / 100.0 / 100.0", "100.0 / 100.0 / 100.0"},
		{"table 4, FashionMNIST", "79.2 / 100.0", "25.4 / 100.0", "17.7 / 76.8", "16.3 / 55.1", "10.8 / 40.8"},
		{"table 4, grey CIFAR-10", "77.2 / 100.0", "10.1 / 100.0", "10.0 / 43.7", "10.0 / 15.7", "10.0 / 11.0"},
		{"table 8, Omniglot", "97.9 / 38.6 / 0.0", "98.5 / 51.0 / 0.0", "", "", "98.6 / 50.7 / 1.8"},
		{"table 8, notMNIST", "91.9 / 38.8 / 0.0", "99.9 / 96.8 / 0.0", "", "", "100.0 / 99.9 / 99.3"},
		{"table 9, uniform noise, ε = 0.4", "", "", "100.0 / 100.0 / 100.0", "", "100.0 / 100.0 / 100.0"},
	} {
		t.Add(row...)
	}
	return t
}

// ByQuantile is GAUC against AUC in table 1 for MNIST, for Q = 0, 20, 40, 60, 80, 90, 95 and 100.
func ByQuantile() []nb.Line {
	return []nb.Line{
		{Name: "FashionMNIST", X: []float64{99.9, 99.8, 99.8, 99.9, 99.8, 99.9, 99.9, 100}, Y: []float64{0, 9.7, 29.1, 42, 55.5, 66.9, 73.9, 78}},
		{Name: "EMNIST Letters", X: []float64{92.9, 95.3, 95.7, 96.6, 97.9, 98, 98.7, 99}, Y: []float64{0, 0, 0, 0.1, 3.4, 5.1, 5.6, 3.3}},
		{Name: "grey CIFAR-10", X: []float64{100, 100, 100, 100, 100, 100, 100, 100}, Y: []float64{0, 28.3, 65.2, 85.3, 94.7, 97.8, 98.8, 99.4}},
	}
}
