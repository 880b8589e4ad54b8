package certlog_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/rs"
)

func ExampleRead() {
	log, err := certlog.Read("theirs.tsv", strings.NewReader("idx\tlabel\tpredict\tradius\n0\t3\t3\t0.5\n1\t8\t8\t0.1\n2\t8\t0\t0.9\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("ACR %.1f, certified accuracy at 0.25 %.2f\n", log.Rows.ACR().Value, log.Rows.CertifiedAccuracy(.25)[0].Value)
	// Output: ACR 0.2, certified accuracy at 0.25 0.33
}

func ExampleReadResults() {
	r, err := certlog.ReadResults("../../../rs/testdata/v1-fixed.ledger")
	fmt.Println(r.Run != nil, len(r.Rows) == r.Run.Images(), err)
	// Output: true true <nil>
}

func ExampleWrite() {
	row := rs.Row{Image: 7, Label: 2}
	row.Class, row.Radius, row.K, row.N, row.Lower, row.Passes = 2, .25, 990, 1000, .9, 1100
	if err := certlog.Write(os.Stdout, certlog.CSV, rs.Rows{row}, nil); err != nil {
		fmt.Println(err)
	}
	// Output:
	// idx,label,predict,radius,correct,time,nA,n,plow,nused,misses
	// 7,2,2,0.25,1,,990,1000,0.900000000000000,1100,0
}
