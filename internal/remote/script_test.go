package remote

import (
	"strings"
	"testing"
)

// Any shell passes the script on as it is: see there.
func TestScriptHasNothingThatShellsReadDifferently(t *testing.T) {
	if i := strings.IndexAny(script, "'\n!"); i >= 0 {
		t.Errorf("the script has %q in it", script[i])
	}
}

func TestCommandTakesNothingElse(t *testing.T) {
	sum := strings.Repeat("0af9", 16)
	if c, err := command(sum, 12, true, doClean); err != nil || !strings.HasSuffix(c, "' sweep "+sum+" 12 sudo clean") {
		t.Errorf("command = %q, %v", c, err)
	}
	for _, bad := range []string{"", sum[1:], sum[1:] + ";", sum[1:] + "A", sum[1:] + "\n"} {
		if _, err := command(bad, 12, false, doServe); err == nil {
			t.Errorf("the checksum %q is taken", bad)
		}
	}
	if _, err := command(sum, 0, false, doServe); err == nil {
		t.Error("an empty binary is taken")
	}
	if _, err := command(sum, 1, false, "rm"); err == nil {
		t.Error("rm is taken")
	}
}
