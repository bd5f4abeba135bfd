package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// refused is what the program says of a command line that it refuses.
func refused(t *testing.T, args ...string) []string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(t.Context(), "test", append(args, "--dry-run"), &out, &errs); code != exitUsage || out.Len() > 0 {
		t.Errorf("%q: exit code %d; it printed %s", args, code, &out)
	}
	text, ok := strings.CutSuffix(errs.String(), "\nRun 'sweep --help' for what there is\n")
	if !ok {
		t.Errorf("%q: help is not named: %s", args, errs.String())
	}
	return strings.Split(strings.TrimPrefix(text, "sweep: "), "\n       ")
}

func TestContradictions(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"--full --trials 3", []string{"--full and trials 3: full is 7 blocks; leave one of the two out"}},
		{"--max-trials 20", []string{"--max-trials 20: there is no precision to stop for before; give --precision 1%, say, or --trials for a number of blocks"}},
		{"--precision 1% --max-trials 6", []string{"--max-trials 6: fewer than the 7 blocks that are measured in any case"}},
		{"--precision 1% --trials 12 --max-trials 11", []string{"--max-trials 11: fewer than the 12 blocks that are measured in any case"}},
		{"--precision 1% --trials 3", []string{"--trials 3: a precision is looked for from 7 blocks on, because fewer give no interval to stop at; leave trials out, or ask for 7 or more"}},
		{"--precision 60%", []string{"--precision 60%: 0.01% to 50% can be asked for"}},
		{"--full --trials 3 --max-trials 5 --duration 1ms --sizes 41 --wire cable --memory 1 --format x", []string{
			"--full and trials 3: full is 7 blocks; leave one of the two out",
			"--max-trials 5: there is no precision to stop for before; give --precision 1%, say, or --trials for a number of blocks",
			`no wire is called "cable"; there are memif and veth`,
			`sizes "41": 41 is too short: Ethernet, IPv4 and UDP headers take 42 bytes`,
			"--memory 1: a guest can have 2 to 1048576 MiB",
			"--duration 1ms: the counters can be watched for 1s to 1h",
			`--format "x" is unknown; there are table, markdown, csv, json, benchfmt, tsv, svg, html`,
		}},
		// The file's own mistakes and the plan's, each with its line.
		{"--plan testdata/plan/wrong.yaml --duration 1ms", []string{
			`testdata/plan/wrong.yaml:6: unknown key "durration"; did you mean duration?`,
			`testdata/plan/wrong.yaml:16: seed: the text "x"; it takes a whole number`,
			"testdata/plan/wrong.yaml:2: full and trials 3: full is 7 blocks; leave one of the two out",
			"testdata/plan/wrong.yaml:4: max_trials 4: there is no precision to stop for before; give --precision 1%, say, or --trials for a number of blocks",
			`testdata/plan/wrong.yaml:7: no wire is called "cable"; there are memif and veth`,
			`testdata/plan/wrong.yaml:1: sizes "41,1500": 41 is too short: Ethernet, IPv4 and UDP headers take 42 bytes`,
			"testdata/plan/wrong.yaml:5: memory 1: a guest can have 2 to 1048576 MiB",
			`testdata/plan/wrong.yaml:8: no sender is called "tcpreplay"; there are sendmmsg and pktgen`,
			`testdata/plan/wrong.yaml:10: the name "Mine": small letters, digits and - can be in it`,
			"testdata/plan/wrong.yaml:12: the name bare is taken",
			"testdata/plan/wrong.yaml:14: open testdata/plan/nowhere: no such file or directory",
			"--duration 1ms: the counters can be watched for 1s to 1h",
		}},
		{"--plan nowhere.yaml --memory 1", []string{
			"read the plan: open nowhere.yaml: no such file or directory",
			"--memory 1: a guest can have 2 to 1048576 MiB",
		}},
	} {
		got := refused(t, strings.Fields(tt.args)...)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, d)
		}
	}
}

// shownPlan is the plan that --dry-run prints, without the time of day.
func shownPlan(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(t.Context(), "test", append(args, "--dry-run"), &out, &errs); code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, &errs)
	}
	text, _, ok := strings.Cut(out.String(), "# CPUs:")
	if !ok {
		t.Fatalf("%q printed %s", args, &out)
	}
	text = regexp.MustCompile(`until about [^\n]*\d\d:\d\d`).ReplaceAllString(text, "until about TIME")
	// tabwriter fills the last column of an empty cell.
	return regexp.MustCompile(`(?m) +$`).ReplaceAllString(text, "")
}

func TestDryRunShowsThePlan(t *testing.T) {
	for name, tt := range map[string]struct{ args, want string }{
		"flags": {"--systems bare/vhost-user --sizes 64,128 --seed 1",
			`# 1 block of 1 system at 2 sizes: 2 trials in 1 boot, about 15 s, until about TIME
#   sizes          64,128           --sizes
#   systems        bare/vhost-user  --systems
#   trials         1                default
#   duration       5s               default
#   wire           memif            default
#   seed           1                --seed
#   kernel sender  sendmmsg         default
#   memory         256 MiB          default
# block 1, boot 1: bare/vhost-user at 128,64
`},
		"file": {"--plan testdata/plan/plan.yaml",
			`# 2 blocks of 2 systems at 2 sizes: 8 trials in 4 boots, about 55 s, until about TIME
#   sizes          64,1500                               testdata/plan/plan.yaml:2
#   systems        mine/vhost-user                       testdata/plan/plan.yaml:3
#                  bare/vhost-user
#   guest mine     testdata/plan/kernel append a=1, b=2  testdata/plan/plan.yaml:9
#   trials         2                                     testdata/plan/plan.yaml:4
#   duration       2s                                    testdata/plan/plan.yaml:5
#   wire           memif                                 default
#   seed           3                                     testdata/plan/plan.yaml:6
#   kernel sender  sendmmsg                              default
#   memory         300 MiB                               testdata/plan/plan.yaml:7
#   note           A plan for the tests.
# block 1, boot 1: mine/vhost-user at 1500,64
# block 1, boot 2: bare/vhost-user at 64,1500
# block 2, boot 3: mine/vhost-user at 64,1500
# block 2, boot 4: bare/vhost-user at 1500,64
`},
		// Flags win, --full over the file's trials as well; a guest that was
		// typed over the file's of that name.
		"both": {"--plan testdata/plan/plan.yaml --precision 2% --max-trials 8 --full --memory 256 --sizes 64 --systems mine/vhost-user --guest mine=/dev/../etc/passwd,,c=3",
			`# 7 to 8 blocks of 1 system at 1 size, until each interval is within 2%: 7 to 8 trials in 7 to 8 boots, about 1 min 40 s to 1 min 50 s, until about TIME at the latest
#   sizes          64                             --sizes
#   systems        mine/vhost-user                --systems
#   guest mine     /dev/../etc/passwd append c=3  --guest
#   trials         7                              --full
#   precision      2%                             --precision
#   max trials     8                              --max-trials
#   duration       2s                             testdata/plan/plan.yaml:5
#   wire           memif                          default
#   seed           3                              testdata/plan/plan.yaml:6
#   kernel sender  sendmmsg                       default
#   memory         256 MiB                        --memory
#   note           A plan for the tests.
# block 1, boot 1: mine/vhost-user at 64
# block 2, boot 2: mine/vhost-user at 64
# block 3, boot 3: mine/vhost-user at 64
# block 4, boot 4: mine/vhost-user at 64
# block 5, boot 5: mine/vhost-user at 64
# block 6, boot 6: mine/vhost-user at 64
# block 7, boot 7: mine/vhost-user at 64
# and up to 1 more, until each interval is within 2%
`},
	} {
		if d := cmp.Diff(tt.want, shownPlan(t, strings.Fields(tt.args)...)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// How many blocks there are, of the flags that say so.
func TestBlocks(t *testing.T) {
	base := []string{"--systems", "bare/vhost-user", "--sizes", "64", "--seed", "1"}
	for args, want := range map[string]string{
		"":                                          "# 1 block of",
		"--trials 3":                                "# 3 blocks of",
		"--full":                                    "# 7 blocks of",
		"--full=false --trials 2":                   "# 2 blocks of",
		"--precision 1%":                            "# 7 to 30 blocks of",
		"--precision 0.5% --full":                   "# 7 to 30 blocks of",
		"--precision 0.01 --trials 9":               "# 9 to 30 blocks of",
		"--precision 1% --trials 40":                "# 40 blocks of", // the default follows
		"--precision 1% --max-trials 7":             "# 7 blocks of",
		"--precision 1% --max-trials 12":            "# 7 to 12 blocks of",
		"--plan testdata/plan/plan.yaml":            "# 2 blocks of",
		"--plan testdata/plan/plan.yaml --trials 4": "# 4 blocks of",
	} {
		if got := shownPlan(t, append(base, strings.Fields(args)...)...); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %.60q; want %q", args, got, want)
		}
	}
}
