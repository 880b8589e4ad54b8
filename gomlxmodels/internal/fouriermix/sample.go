package fouriermix

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/augment"
)

// Sample reads images [M, H, W, C] by M maps, which are inputs as Maps.Tensors makes them: at the
// nearest pixel or between the four around a point, as f says. Points outside, and pixels outside
// beside a point, are 0.
func Sample(f augment.FourierMix, images *Node, maps []*Node) *Node {
	slopes, starts := maps[0], maps[1]
	g, d := images.Graph(), images.Shape().Dimensions
	m, h, w := d[0], d[1], d[2]
	columns := Reshape(ConvertDType(Iota(g, shapes.Make(dtypes.Int32, w), 0), slopes.DType()), 1, 1, 1, w)
	// [M, 2, H, W], float64: exact where starts and slopes are rounded
	points := Add(InsertAxes(starts, -1), Mul(Reshape(slopes, m, 2, 1, 1), columns))
	x, y := Squeeze(Slice(points, AxisRange(), AxisElem(0)), 1), Squeeze(Slice(points, AxisRange(), AxisElem(1)), 1)
	flat := Reshape(images, m*h*w, d[3])
	first := MulScalar(Iota(g, shapes.Make(dtypes.Int32, m, h, w), 0), h*w)

	// at is the pixels in whole columns and rows [M, H, W].
	at := func(column, row *Node) *Node {
		inside := func(v *Node, n int) *Node {
			return LogicalAnd(GreaterOrEqual(v, ScalarZero(g, v.DType())), LessThan(v, Scalar(g, v.DType(), n)))
		}
		valid := LogicalAnd(inside(column, w), inside(row, h))
		index := ConvertDType(Add(MulScalar(row, w), column), dtypes.Int32)
		index = Where(valid, Add(first, index), ZerosLike(first))
		pixels := Reshape(Gather(flat, InsertAxes(index, -1)), d...)
		mask := BroadcastToShape(InsertAxes(valid, -1), pixels.Shape())
		return Where(mask, pixels, ZerosLike(pixels))
	}
	if f.Sampling != "bilinear" {
		return at(Floor(AddScalar(x, 0.5)), Floor(AddScalar(y, 0.5)))
	}
	left, top := Floor(x), Floor(y)
	share := func(v *Node) *Node { return InsertAxes(ConvertDType(v, images.DType()), -1) }
	dx, dy := share(Sub(x, left)), share(Sub(y, top))
	upper := Add(Mul(OneMinus(dx), at(left, top)), Mul(dx, at(AddScalar(left, 1.0), top)))
	below := AddScalar(top, 1.0)
	lower := Add(Mul(OneMinus(dx), at(left, below)), Mul(dx, at(AddScalar(left, 1.0), below)))
	return Add(Mul(OneMinus(dy), upper), Mul(dy, lower))
}
