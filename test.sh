#!/usr/bin/env bash
# Tests the kit, with the real programs, on this machine.
#
#   ./test.sh        everything once, in under ten minutes on 2 CPUs
#   ./test.sh fresh  the README's two commands in a bare Debian root (needs root)
#   ./test.sh rehearsal  two emulated machines with a cable (needs root; under half an
#                    hour); with --short only what .ci/run has of it
#   ./test.sh soak   the long counts (about an hour); the log goes to docs/soak.log
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"

# The version is pinned so that a new check can't fail an old commit.
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2

say() { printf '%s\n' "== $*"; }

# A failed command's output is what its reader needs, a good one's is not.
quietly() {
	local log
	log=$(mktemp)
	if "$@" >"$log" 2>&1; then
		rm -f "$log"
	else
		local code=$?
		cat "$log"
		rm -f "$log"
		return "$code"
	fi
}

# go_test runs tests and counts them: in passed, failed and skipped.
passed=0 failed=0 skipped=0
go_test() {
	local log code=0
	log=$(mktemp)
	go test -count=1 -v "$@" >"$log" 2>&1 || code=$?
	passed=$((passed + $(grep -c '^ *--- PASS' "$log" || true)))
	skipped=$((skipped + $(grep -c '^ *--- SKIP' "$log" || true)))
	local bad
	bad=$(grep -c '^ *--- FAIL' "$log" || true)
	# A package that doesn't build, or a test that brings its process down,
	# fails without a line of its own.
	if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
	failed=$((failed + bad))
	if [ "$code" -ne 0 ]; then
		grep -v '^=== \|^ *--- PASS\|^PASS$\|^ok ' "$log" || true
	else
		grep '^ok ' "$log" | awk '{print "   " $2, $3}'
	fi
	if [ -n "${keep_log:-}" ]; then cat "$log" >>"$keep_log"; fi
	rm -f "$log"
}

# fuzz runs a fuzz target for some time. Inputs are made smaller for a hundred
# tries, not for a minute each, which would be most of the time.
fuzz() {
	go_test -run '^$' -fuzz "$1\$" -fuzztime "$2" -fuzzminimizetime 100x "$3"
	grep -h '^fuzz: elapsed' "$keep_log" | tail -n 1 || true
}

finish() {
	say "took $((SECONDS / 60)) min $((SECONDS % 60)) s"
	echo "$passed passed, $failed failed, $skipped skipped"
	# A test skips where a part is missing, for go test ./... at home; here
	# prepare.sh has made all of them ready.
	[ "$failed" -eq 0 ] && [ "$skipped" -eq 0 ]
}

checks() {
	say "gofmt, go vet, staticcheck, shellcheck, modules"
	local unformatted
	unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)
	if [ -n "$unformatted" ]; then
		echo "not gofmt'ed: $unformatted"
		failed=$((failed + 1))
	fi
	local check
	for check in "go vet ./..." "go vet -tags real,soak ./..." "go run $staticcheck ./..." \
		"go run $staticcheck -tags real,soak ./test/..." \
		"go vet -tags rehearsal ./rehearsal/..." "go run $staticcheck -tags rehearsal ./rehearsal/..." \
		"go vet -tags dpdk ./cmd/pktio ./internal/pktio" "go run $staticcheck -tags dpdk ./cmd/pktio ./internal/pktio" "go mod tidy -diff" "go mod verify"; do
		# shellcheck disable=SC2086 # words are meant
		quietly $check || { echo "failed: $check"; failed=$((failed + 1)); }
	done
	git ls-files -co --exclude-standard | xargs -d '\n' awk 'FNR == 1 && /^#!.*sh/ { print FILENAME }' |
		xargs -d '\n' shellcheck || failed=$((failed + 1))
}

case ${1:-} in
'')
	./prepare.sh --tests
	checks
	say "unit tests"
	go_test ./...
	say "the real thing: testpmd, QEMU, a guest (some minutes)"
	go_test -tags real -timeout 15m ./test
	finish
	;;
fresh)
	shift
	exec test/fresh.sh "$@"
	;;
rehearsal)
	./prepare.sh --rehearsal
	short=()
	if [ "${2:-}" = --short ]; then short=(-short -run 'TestDoctor$|TestSweep$|TestOwnNICIsRefused$'); fi
	say "two emulated machines"
	go_test -tags rehearsal -timeout 40m "${short[@]}" ./rehearsal
	finish
	;;
soak)
	./prepare.sh --tests
	keep_log=$(mktemp)
	trap 'rm -f "$keep_log"' EXIT
	version=$(git describe --always --dirty) # before the log itself changes
	{
		echo "./test.sh soak of $version on $(uname -sr), $(nproc) CPUs, $(date -u +%F)"
		say "kill -9 at twenty random moments, each run resumed"
		SWEEP_SOAK=20 go_test -tags real -timeout 60m -run 'TestKill9$' ./test
		grep -h 'killed after\|resumed: ' "$keep_log" || true
		say "two emulated machines: kill -9, a cut connection, a reset, ten times each"
		./prepare.sh --rehearsal
		SWEEP_SOAK=10 go_test -tags rehearsal -timeout 4h ./rehearsal
		grep -h ': interrupted after' "$keep_log" || true
		say "the same system under two names, ten times"
		SWEEP_SOAK=10 go_test -tags real,soak -timeout 90m -run 'TestAA$' ./test
		grep -h ' against \|A/A runs\|: took ' "$keep_log" || true
		say "the statistics, simulated"
		go run ./bench/intervals
		say "the lab against the plain set-up"
		go run ./bench/lab
		say "ten minutes of fuzzing the parser, and two of the failures' table"
		fuzz FuzzParse 10m ./internal/testpmd
		fuzz FuzzExplain 2m ./internal/diagnose
		finish
	} 2>&1 | tee docs/soak.log
	;;
*)
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
