package study

// Cell is a place in a table: a quantity of a row, in the mean over the sets that Set stands for.
type Cell struct{ Row, Set, What string }
