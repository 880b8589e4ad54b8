package nb

import (
	"os"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Of a table of more than 1,000 rows a page shows both ends; the file beside it has all rows.
func TestLongTables(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, rows := range []int{1000, 1001} {
		long := Columns("row")
		for i := range rows {
			long.Add(i)
		}
		shown := tableBundle(long)[protocol.MIMETextHTML].(string)
		if n := strings.Count(shown, "<tr>"); rows == 1000 && n != 1001 || rows > 1000 && n != 2*endRows+2 {
			t.Errorf("%d rows: %d are shown", rows, n)
		}
		text, err := os.ReadFile("row.csv")
		if rows == 1000 && err == nil || rows > 1000 && (strings.Count(string(text), "\n") != 1002 || !strings.Contains(shown, "row.csv")) {
			t.Errorf("%d rows: %v, %d bytes in the file", rows, err, len(text))
		}
	}
}
