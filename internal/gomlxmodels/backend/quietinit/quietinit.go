// Package quietinit keeps go-xla silent while it is initialised where there is no home folder: it
// logs on standard error that it does not search there, in every command. Go initialises packages in
// the order of their import paths as far as imports allow, so that this one comes before go-xla.
package quietinit

import (
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func init() {
	if _, err := os.UserHomeDir(); err != nil {
		klog.SetLogger(logr.Discard())
	}
}

// End lets go-xla say again what it has to say.
func End() { klog.ClearLogger() }
