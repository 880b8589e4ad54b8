package backend

import (
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"github.com/gomlx/compute/gobackend"
)

// Options of the Go backend that cannot deadlock. Its default mode can, when twice
// GOMAXPROCS matrix products are ready at once.
const (
	goForInference = "ops_sequential"
	goForTraining  = "parallelism=64"
)

func openGo(options string) (*Backend, error) {
	// gobackend prints a line on standard output for the option parallelism, which would
	// break --json; the same setting made on the pool is silent.
	var kept []string
	parallelism := 0
	for option := range strings.SplitSeq(options, ",") {
		value, found := strings.CutPrefix(option, "parallelism=")
		if !found {
			kept = append(kept, option)
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("Go backend option %q; expected a whole number other than 0", option)
		}
		parallelism = n
	}
	engine, err := gobackend.New(strings.Join(kept, ","))
	if err != nil {
		return nil, fmt.Errorf("Go backend options %q: %v", options, err)
	}
	if parallelism != 0 {
		pool := reflect.ValueOf(engine).Elem().FieldByName("Workers").MethodByName("SetMaxParallelism")
		pool.Call([]reflect.Value{reflect.ValueOf(parallelism)})
	}
	return &Backend{
		Backend:        engine,
		Engine:         Go,
		Version:        moduleVersion(goModule),
		Device:         "cpu",
		Threads:        runtime.GOMAXPROCS(0),
		InstructionSet: goInstructionSet(),
	}, nil
}
