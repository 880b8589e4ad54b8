package netgraph

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
)

// joined is the posterior of logits f [N, K] and h [N, 1], moved by a shift. In training no
// gradient flows from it to h where that is apart.
func (g *grapher) joined(f, h span, shift float64, apart bool) span {
	k := f.centre.Shape().Dimensions[1]
	join := func(logP, h *Node) *Node {
		x := AddScalar(Add(MaxScalar(logP, netparts.LeastLogP), h), math.Log(float64(k))+shift)
		return Softplus(x)
	}
	if f.radius == nil {
		value := h.centre
		if g.averages != nil && apart {
			value = StopGradient(value)
		}
		return span{join(LogSoftmax(f.centre), value), nil}
	}
	// Of log p_k, −ln(1 + Σ_{j≠k} exp(u_j − l_k)) and the same with l and u exchanged.
	against := func(others, mine *Node) *Node {
		x := Sub(InsertAxes(others, 1), InsertAxes(mine, -1))
		same := BroadcastToShape(InsertAxes(Diagonal(x.Graph(), k), 0), x.Shape())
		x = Where(same, ZerosLike(x), x)
		top := StopGradient(ReduceAndKeep(x, ReduceMax, -1))
		return Neg(Add(Log(ReduceSum(Exp(Sub(x, top)), -1)), Squeeze(top, -1)))
	}
	lower, upper := Sub(f.centre, f.radius), Add(f.centre, f.radius)
	c, r := fromEnds(
		join(against(upper, lower), Sub(h.centre, h.radius)),
		join(against(lower, upper), Add(h.centre, h.radius)))
	return span{c, r}
}
