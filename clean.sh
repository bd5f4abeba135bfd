#!/usr/bin/env bash
# Undoes what runs that were killed left on this machine; see docs/failures.md.
#
#   ./clean.sh        processes, sockets, folders, as the runs' journals say
#   ./clean.sh --all  also build/, with the program and the guest's image
#
# Packages and results stay.
set -euo pipefail
top=$(dirname "$(readlink -f "$0")")
all=''
if [ "${1:-}" = --all ]; then
	all=yes
	shift
fi
[ -x "$top/build/sweep" ] || "$top/prepare.sh" --build
"$top/build/sweep" clean "$@"
[ -z "$all" ] || rm -rf "$top/build"
