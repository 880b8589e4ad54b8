package progress_test

import (
	"fmt"
	"time"

	"github.com/certspec/certspec/progress"
)

func ExampleState() {
	var report progress.Reporter = func(s progress.State) { fmt.Println(s) }
	report(progress.State{Task: "certify", Done: 3, Total: 10, Unit: "images", Rate: 500, RateUnit: "samples", Left: 90 * time.Second})
	// Output: certify: 3 of 10 images, 500 samples/s, 1m30s left
}

func ExampleReporter_Say() {
	var report progress.Reporter = func(s progress.State) { fmt.Println(s) }
	report.Say("%d of %d classes have no image", 2, 10)
	progress.Reporter(nil).Say("nobody listens")
	// Output: 2 of 10 classes have no image
}

func ExampleMessages() {
	report := progress.Messages(func(format string, args ...any) { fmt.Printf("-- "+format+"\n", args...) })
	report.Say("downloading %s", "a library")
	report(progress.State{Task: "certify", Done: 3})
	// Output: -- downloading a library
}
