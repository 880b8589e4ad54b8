// A module without Go code, so that the module that this repository is leaves these files out: who imports a package does not download them.
module github.com/certspec/certspec/notebooks
