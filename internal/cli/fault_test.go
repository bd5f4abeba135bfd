package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/internal/paced"
	"sweep/internal/plan"
	"sweep/internal/run"
	"sweep/internal/systems"
	"sweep/internal/testbed"
)

func TestTruthFlags(t *testing.T) {
	build := t.TempDir()
	if err := os.WriteFile(filepath.Join(build, "pktio"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	options := func(dir string, named ...plan.System) run.Options {
		return run.Options{Wire: testbed.Memif{}, Catalog: systems.Catalog{Build: dir}, Plan: plan.Plan{Systems: named}}
	}
	bare := plan.System{Guest: "bare", Attachment: "vhost-user"}

	o := options(build, bare, paced.System())
	var wrong complaints
	truthFlags{fault: "pause 300ms@2s,drop=10", pace: 5}.options(&o, &wrong)
	w, ok := o.Wire.(testbed.Relayed)
	if len(wrong) > 0 || !ok || o.Plan.Fault != "drop=10,pause=300ms@2s" || w.Fault.String() != o.Plan.Fault || w.Program != build+"/pktio" || o.Catalog.Pace != 5 {
		t.Errorf("%v: %+v, %+v, pace %d", wrong, o.Wire, o.Plan, o.Catalog.Pace)
	}
	o = options(build)
	if (truthFlags{}).options(&o, &wrong); len(wrong) > 0 || o.Wire != (testbed.Memif{}) || o.Plan.Fault != "" {
		t.Errorf("%v: without flags %+v, %q", wrong, o.Wire, o.Plan.Fault)
	}

	// All that is wrong is said at once.
	o = options(t.TempDir(), bare)
	o.Wire = testbed.Veth{}
	truthFlags{fault: "drop=0,loss", pace: 5}.options(&o, &wrong)
	text := strings.Join(wrong, "\n")
	for _, want := range []string{"--pace is of paced/vhost-user", `--fault: "drop=0"`, `"loss" is none`, "pktio: no such file", "./prepare.sh --tests", "needs the wire memif"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// The paced sender can be asked for and is none of what is measured unasked, nor
// counted.
func TestPacedIsAskedFor(t *testing.T) {
	var wrong complaints
	f := guestFlags{systems: "paced/vhost-user", kernelSender: "sendmmsg", memory: 256, also: []plan.System{paced.System()}}
	c, asked := f.catalog(t.TempDir(), origins{}, nil, &wrong)
	if len(wrong) > 0 || len(asked) != 1 || asked[0] != paced.System() {
		t.Errorf("%v: %v", wrong, asked)
	}
	for _, s := range c.Known() {
		if s == paced.System() {
			t.Error("it is measured unasked")
		}
	}
	f.also = nil
	if f.catalog(t.TempDir(), origins{}, nil, &wrong); len(wrong) != 1 || !strings.Contains(wrong[0], `"paced/vhost-user" is unknown`) {
		t.Errorf("cost takes it: %v", wrong)
	}
}
