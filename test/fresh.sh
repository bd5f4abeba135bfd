#!/usr/bin/env bash
# Tries the README's two commands in a bare Debian root: made by mmdebstrap,
# with Go copied in and nothing else. Needs root, for the root is entered with
# namespaces of its own and what is done in it needs root too.
#
#   test/fresh.sh             ./sweep --sizes 64,1500, twice, all of ./sweep,
#                             ./sweep cost, and ./clean.sh
#   test/fresh.sh --tests     and ./test.sh
#   test/fresh.sh --worktree  the files as they are, not as they were committed
set -euo pipefail
top=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)

tests='' tree=HEAD
for arg; do
	case $arg in
	--tests) tests=yes ;;
	--worktree) tree='' ;;
	*)
		sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
		exit 2
		;;
	esac
done

say() { printf '== %s\n' "$*"; }
[ "$(id -u)" -eq 0 ] || { echo "fresh: this needs root" >&2; exit 3; }
for program in mmdebstrap unshare; do
	command -v $program >/dev/null || apt-get install -qy --no-install-recommends mmdebstrap util-linux >/dev/null
done

root=$(mktemp -d /var/tmp/sweep-fresh-XXXXXX)
# The mounts are those of a namespace that is gone by then.
trap 'rm -rf "$root"' EXIT

say "a bare root"
mmdebstrap --quiet --variant=minbase --mode=root bookworm "$root/debian" \
	"deb http://deb.debian.org/debian bookworm main" \
	"deb http://deb.debian.org/debian bookworm-updates main" \
	"deb http://deb.debian.org/debian-security bookworm-security main"
# Nothing of this machine's lists: a bare system may have none.
rm -rf "$root/debian/var/lib/apt/lists"/*
mkdir -p "$root/debian/usr/local" "$root/debian/kit"
cp -a "$(go env GOROOT)" "$root/debian/usr/local/go"
if [ -n "$tree" ]; then
	git -C "$top" archive "$tree" | tar -x -C "$root/debian/kit"
else
	(cd "$top" && git ls-files -z -co --exclude-standard | tar -c --null -T - --ignore-failed-read 2>/dev/null) | tar -x -C "$root/debian/kit"
fi
cp /etc/resolv.conf "$root/debian/etc/resolv.conf"

# Certificates of this machine's own, for one behind a proxy that signs anew.
if [ -d /usr/local/share/ca-certificates ]; then
	mkdir -p "$root/debian/usr/local/share/ca-certificates"
	cp -a /usr/local/share/ca-certificates/. "$root/debian/usr/local/share/ca-certificates/"
fi

# inside runs a command in the root, in mount and pid namespaces of its own:
# what it starts ends with it.
inside() {
	# shellcheck disable=SC2016 # the inner shell expands it
	unshare --mount --pid --fork --kill-child --propagation private -- sh -c '
		set -e
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount --rbind /sys "$root/sys"
		mount --rbind /dev "$root/dev"
		exec chroot "$root" env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
			PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			${GOPROXY:+GOPROXY="$GOPROXY"} ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
			"$@"' inside "$root/debian" "$@"
}

# timed runs a step and checks its time, in seconds.
timed() {
	local most=$1 what=$2
	shift 2
	say "$what"
	local began=$SECONDS
	"$@"
	local took=$((SECONDS - began))
	say "$what: $took s (at most $most)"
	[ "$took" -le "$most" ] || { echo "fresh: too slow" >&2; exit 1; }
}

timed 300 "the first ./sweep" inside sh -c 'cd /kit && ./sweep --sizes 64,1500 --results /first'
timed 120 "the second ./sweep" inside sh -c 'cd /kit && ./sweep --sizes 64,1500 --results /second'
timed 400 "./sweep, whole" inside sh -c 'cd /kit && ./sweep --results /third'
timed 120 "./sweep cost" inside sh -c 'cd /kit && ./sweep cost --systems bare/vhost-user --results /cost'
say "what was measured"
for run in first second third; do
	sizes="64 1500"
	[ $run != third ] || sizes="64 128 256 512 1024 1500"
	for system in linux-dpdk linux-kernel bare; do
		csv=$root/debian/$run/$system-vhost-user.csv
		echo "$run $system" "$(tr '\n\t' ' =' <"$csv")"
		# Each line above zero, and the frames as long as the size.
		awk -F '\t' -v "sizes=$sizes" 'NR > 1 && !($2 > 0) { bad = 1 } END { exit bad || NR != 1 + split(sizes, x, " ") }' "$csv"
	done
	for size in $sizes; do
		[ "$(grep -c "\"size\":${size},.*\"bytes_per_packet\":${size}[,}]" "$root/debian/$run/trials.jsonl")" -eq 3 ]
	done
done
inside sh -c 'cd /kit && ./clean.sh'
if [ -n "$tests" ]; then
	timed 900 "./test.sh" inside sh -c 'cd /kit && ./test.sh'
fi
say "fresh: all of it works in a bare root"
