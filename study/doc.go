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
// A measure leaves columns, a value for each image of a set on one network. A Quantity is a function
// of columns. A Cell is a quantity of a row on a set. A Claim compares two cells, and it is evaluated
// twice: on a folder, and on what is printed. So the two differ in no unit, set or reference; what
// else differs, as the largest radius that can be proven, Context.Beside says.
//
// The package knows no engine: package experiment, imported for its effect, trains and certifies.
package study
