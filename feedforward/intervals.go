package feedforward

import "context"

func (n *Network) intervals(ctx context.Context, input Set, a Arithmetic) (*region, Arithmetic, error) {
	a, err := a.check()
	if err != nil {
		return nil, a, err
	}
	r := newRegion(len(n.nodes))
	if r.boxes[0], r.lines[0], err = input.region(n, a); err != nil {
		return nil, a, err
	}
	r.reach[0].direct = r.boxes[0].magnitude()
	for i := range n.nodes[1:] {
		if err := ctx.Err(); err != nil {
			return nil, a, err
		}
		r.boxes[i+1] = n.enclose(ctx, r, i+1, true, a)
	}
	return r, a, ctx.Err()
}

// enclose bounds the values of a node by those of the nodes that it reads, along lines where they lie on them.
func (n *Network) enclose(ctx context.Context, r *region, at int, lines bool, a Arithmetic) (out Box) {
	nd := n.nodes[at]
	reached, faint := n.reachOf(r, at), 0.0
	if _, ok := nd.layer.(affine); ok && a != Plain {
		faint = reached.faint()
	}
	var l *line
	if lines {
		l = r.follow(ctx, nd, a)
	}
	if l != nil {
		for i := range l.slack {
			l.slack[i] += faint
		}
		out = l.box(a)
	} else {
		out = newBox(nd.shape.Size())
		if affine, ok := nd.layer.(affine); ok {
			r.slacks[at] = affine.enclose(ctx, r.boxes[nd.in[0]], out, a)
		} else {
			nd.layer.interval(ctx, pick(r.boxes, nd.in), out, a)
		}
		for i := range out.Lower {
			out.Lower[i], out.Upper[i] = out.Lower[i]-faint, out.Upper[i]+faint
		}
	}
	if a != Plain {
		reached.flush(out)
	}
	if out.guard() {
		l = nil
	}
	if lines {
		r.lines[at] = l
	}
	r.reach[at] = reached.to(nd, out)
	return out
}
