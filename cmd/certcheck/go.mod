// The checker of ledgers is a module of its own, so that its independence is visible: it requires
// nothing. Its tests compare it with certspec's packages, which go.work joins.
module github.com/certspec/certspec/cmd/certcheck

go 1.26.5
