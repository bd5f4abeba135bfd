package remote

import (
	"fmt"
	"strings"
)

// What the script says, each on a line of its own. Whatever a shell's start-up
// files print before is no such line.
const (
	markWant  = "sweep-script: want"  // the binary is not there: send it
	markHave  = "sweep-script: have"  // it is there, and verified
	markLacks = "sweep-script: lacks" // a program that the script needs, by name
	markNot   = "sweep-script: not"   // what could not be done
)

// script is what ssh has the host run. It is a constant: its arguments are the
// binary's checksum and size, whether to use sudo, and what to do, all of them
// made of letters and digits only (see command).
//
// The user's shell there may be any, so it only has to start sh with one word in
// single quotes: no quote of that kind in it, no newline (csh wants those
// escaped) and no exclamation mark (csh's history).
const script = `` +
	// What it makes is for this user only. Programs speak English, which is what
	// is looked for in what they say.
	`umask 077; LC_ALL=C; export LC_ALL; ` +
	`say() { echo; echo "sweep-script: $*"; }; ` +

	// XDG Base Directory Specification: a path that is relative is ignored.
	`case "$XDG_CACHE_HOME" in /*) c=$XDG_CACHE_HOME;; *) c=$HOME/.cache;; esac; ` +
	`d=$c/sweep; b=$d/agent-$1; t=$b.$$; ` +

	`for p in sha256sum head mkdir chmod mv rm rmdir; do ` +
	`command -v $p >/dev/null 2>&1 || { say lacks $p; exit 69; }; done; ` +
	`ok() { test "$(sha256sum <"$1")" = "$2  -"; }; ` +

	// Bring the binary, under another name until it is known to be the one. A
	// folder that is made for it is remembered, for the clean to remove it too.
	`if test -f "$b" && ok "$b" $1; then say have; else ` +
	`test -d "$c" || new=yes; ` +
	`mkdir -p "$d" || { say not made "$d"; exit 73; }; ` +
	`test -z "$new" || : >"$d/new"; ` +
	`trap "rm -f \"\$t\"; exit 74" HUP INT TERM; ` +
	`say want; ` +
	`head -c $2 >"$t" && ok "$t" $1 && chmod 700 "$t" && mv -f "$t" "$b" || { rm -f "$t"; say not brought "$b"; exit 74; }; ` +
	`trap - HUP INT TERM; ` +
	`say have; fi; ` +

	`case $3 in sudo) run="sudo -n";; *) run=;; esac; ` +
	`case $4 in serve) exec $run "$b" agent;; esac; ` +

	// Clean: what the agents changed, and then what was brought. Binaries of other
	// versions and halves of them too.
	`$run "$b" agent --clean; r=$?; ` +
	`rm -f "$d"/agent-*; ` +
	`if test -f "$d/new"; then rm -f "$d/new"; rmdir "$d" && rmdir "$c"; else rmdir "$d"; fi 2>/dev/null; ` +
	`exit $r`

// What the script does once the binary is there.
const (
	doServe = "serve"
	doClean = "clean"
)

// command is what ssh has the host's shell run.
func command(sha256 string, size int64, sudo bool, do string) (string, error) {
	if len(sha256) != 64 || strings.Trim(sha256, "0123456789abcdef") != "" || size <= 0 || do != doServe && do != doClean {
		return "", fmt.Errorf("checksum %q, size %d and %q are no arguments of the script", sha256, size, do)
	}
	as := "plain"
	if sudo {
		as = "sudo"
	}
	return fmt.Sprintf("exec sh -c '%s' sweep %s %d %s %s", script, sha256, size, as, do), nil
}
