// Package study sets numbers of networks beside each other: ours, and those that are printed in a
// paper.
//
//	s := study.New("out/mine", "cifar10/test[skip=20]")
//	s.Network("mine", "net.onnx", 0.25)
//	s.Recipe("Gaussian", "sun2021/c10/g", 1, 2, 3)
//	s.Radii("clean", "C")
//	s.Claim("main", study.Claim{Row: "mine", Than: "Gaussian", What: "acr", On: []string{"clean", "C"}})
//	err := s.Run(ctx)
//
// In the order of use:
//
//   - [New] begins a [Study] of one's own networks and recipes; its Run trains and certifies.
//   - [Open] reads a table of a finished folder as a [Folder], [OpenFiles] ledgers and other files as one.
//   - A measure has left a [Column] there: a value for each image of a set on one network. A [Quantity]
//     is a function of columns, and a [Cell] is a quantity of a [Row] on a set.
//   - [Folder.Estimate] and [Folder.Difference] give cells with their intervals.
//   - A [Claim] compares two cells. [Judge] evaluates it twice: on a folder, and on the printed numbers
//     of a paper. So the two differ in no unit, set or reference; [Context] names what else differs, as
//     the largest radius that can be proven. [Verdicts] is the table of it.
//
// The package knows no engine: package experiment, imported for its effect, trains and certifies.
package study
