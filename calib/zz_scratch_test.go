package calib

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

func gen(r *rand.Rand, n int, g float64) (z []float64, p []float64, c []bool) {
	for range n {
		u := math.Pow(r.Float64(), 3)
		zz := 1 - .6*u
		pp := min(1, max(0, zz-g*math.Sin(6*zz)))
		z, p, c = append(z, zz), append(p, pp), append(c, r.Float64() < pp)
	}
	return
}

func TestScratch(t *testing.T) {
	if os.Getenv("SCRATCH") == "" {
		t.Skip()
	}
	const M = 15
	for _, n := range []int{200, 500, 2000} {
		for _, g := range []float64{0, .03, .1, .3} {
			r := rand.New(rand.NewPCG(1, 2))
			// truth by the mean signed gap in fine equal-mass bins
			z, p, _ := gen(r, 400000, g)
			order := make([]int, len(z))
			for i := range order {
				order[i] = i
			}
			slices.SortFunc(order, func(i, j int) int {
				if z[i] < z[j] {
					return -1
				}
				return 1
			})
			truth := 0.
			for m := range M {
				gap := 0.
				for _, i := range order[m*len(z)/M : (m+1)*len(z)/M] {
					gap += z[i] - p[i]
				}
				truth += math.Abs(gap) / float64(len(z))
			}
			reps, B := 150, 200
			if n > 1000 {
				reps = 80
			}
			names := []string{"perc", "basic", "shift2", "sub.5", "sub.6", "sub.667", "sub.75", "sub.85"}
			cov, wid, inc := make([]float64, len(names)), make([]float64, len(names)), make([]float64, len(names))
			for range reps {
				z, _, c := gen(r, n, g)
				th, _ := AdaECE(c, z, M)
				values := make([]float64, B)
				dz, dc := make([]float64, n), make([]bool, n)
				mean := 0.
				for b := range values {
					for i := range dz {
						j := r.IntN(n)
						dz[i], dc[i] = z[j], c[j]
					}
					values[b], _ = AdaECE(dc, dz, M)
					mean += values[b] / float64(B)
				}
				slices.Sort(values)
				lo, hi, b := values[B/40], values[B-1-B/40], mean-th
				is := [][2]float64{{lo, hi}, {2*th - hi, 2*th - lo}, {lo - 2*b, hi - 2*b}}
				for _, e := range []float64{.5, .6, 2. / 3, .75, .85} {
					m := int(math.Ceil(math.Pow(float64(n), e)))
					for b := range values {
						perm := r.Perm(n)
						for i := range m {
							dz[i], dc[i] = z[perm[i]], c[perm[i]]
						}
						values[b], _ = AdaECE(dc[:m], dz[:m], M)
					}
					slices.Sort(values)
					lo, hi := values[B/40], values[B-1-B/40]
					f := math.Sqrt(float64(m) / float64(n-m))
					is = append(is, [2]float64{th - f*(hi-th), th - f*(lo-th)})
				}
				for k, i := range is {
					l, h := max(0, i[0]), max(0, i[1])
					if l <= truth && truth <= h {
						cov[k] += 1 / float64(reps)
					}
					if l <= th && th <= h {
						inc[k] += 1 / float64(reps)
					}
					wid[k] += (h - l) / float64(reps)
				}
			}
			fmt.Printf("n=%d g=%g true %.4f:", n, g, truth)
			for k, name := range names {
				fmt.Printf(" %s %.2f/%.3f/%.2f", name, cov[k], wid[k], inc[k])
			}
			fmt.Println()
		}
	}
}
