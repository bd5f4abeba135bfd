#!/usr/bin/env bash
# Makes ready what the kit needs and is missing: packages, the program, the
# guests and their image. It can be run again and again; with nothing to do it
# says nothing.
#
#   ./prepare.sh             all of it; the guest unikraft where kraft is installed
#   ./prepare.sh --unikraft DIR  the guest unikraft, in a checkout of Unikraft v0.17
#   ./prepare.sh --build     only the program (Go alone is needed)
#   ./prepare.sh --tests     also what ./test.sh needs
#   ./prepare.sh --rehearsal also what the rehearsal's two machines are made with
#   ./prepare.sh --packages  only the packages; the one part that needs root
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"

stage=${1:-all}
case $stage in
all | --build | --tests | --rehearsal | --packages | --unikraft) ;;
*)
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac

say() { printf 'prepare: %s\n' "$*" >&2; }
die() {
	say "$@"
	exit 3
}

# What is needed, the package that it is in, and what for.
#   a name: a program on the PATH; a path: a file
needed() {
	cat <<-'TABLE'
		dpdk-testpmd             dpdk-dev          server, client and the guest linux-dpdk
		qemu-system-x86_64       qemu-system-x86   virtual machines
		gcc                      gcc               the guests in C
		/usr/lib/x86_64-linux-gnu/libc.a libc6-dev the guest linux-kernel's program
		/bin/busybox             busybox-static    the guest's init
		ip                       iproute2          the veth wire
		nsenter                  util-linux        the veth wire
		lz4                      lz4               the guest's kernel, unpacked
		xz                       xz-utils          the guest's kernel, unpacked
		zstd                     zstd              the guest's kernel, unpacked
		/etc/ssl/certs/ca-certificates.crt ca-certificates  Go's module proxy
	TABLE
	if [ "$stage" = --rehearsal ]; then
		cat <<-'TABLE'
			mmdebstrap           mmdebstrap        the machines' disk
			mke2fs               e2fsprogs         the machines' disk
			ssh                  openssh-client    reaching them
			pgrep                procps            cutting a connection
		TABLE
	fi
	if [ "$stage" = --tests ]; then
		cat <<-'TABLE'
			shellcheck           shellcheck        checking the scripts
			git                  git               listing the files to check
			setpriv              util-linux        tests as an ordinary user
			chromium             chromium          the report's page in a browser
			ssh                  openssh-client    a machine elsewhere
			sshd                 openssh-server    a machine elsewhere
			/usr/include/dpdk/rte_ethdev.h libdpdk-dev pktio, which the tests measure the kit with
			pkg-config           pkgconf           pktio
		TABLE
	fi
}

# missing lists the packages that are.
missing() {
	needed | while read -r what package _; do
		case $what in
		/*) [ -e "$what" ] ;;
		*) command -v "$what" || [ -x "/usr/sbin/$what" ] || [ -x "/sbin/$what" ] ;;
		esac >/dev/null || echo "$package"
	done | sort -u
}

packages() {
	local list
	list=$(missing | tr '\n' ' ')
	list=${list% }
	[ -n "$list" ] || return 0
	command -v apt-get >/dev/null || die "these packages are missing, under Debian's names: $list. Install them, then run this again."
	if [ "$(id -u)" -ne 0 ]; then
		die "packages are missing ($list). Installing them needs root, once: sudo $PWD/prepare.sh --packages"
	fi
	say "installing $list"
	export DEBIAN_FRONTEND=noninteractive
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	# The lists may be missing, or too old for what is served now; and dpkg may
	# have been interrupted.
	# shellcheck disable=SC2086 # words are meant
	apt install -qy --no-install-recommends $list || {
		say "updating apt's lists"
		dpkg --configure -a >/dev/null 2>&1 || true
		apt update -q && apt install -qy --no-install-recommends $list
	} || {
		tail -n 15 "$log" >&2
		die "apt-get could not install them (its last lines stand above; is the network there?)"
	}
}

# apt runs apt-get, with a dot for each package that comes and is unpacked: it
# can take a minute.
apt() {
	apt-get -o DPkg::Lock::Timeout=120 "$@" 2>&1 | tee "$log" |
		awk '/^(Get:|Unpacking|Setting up)/ { printf "." > "/dev/stderr"; any = 1 } END { if (any) print "" > "/dev/stderr" }'
}

# find_go puts a Go on the PATH that is new enough, or says what to do.
find_go() {
	local want have=''
	want=$(awk '$1 == "go" { print $2 }' go.mod)
	for dir in '' /usr/local/go/bin:; do
		have=$(PATH=$dir$PATH GOTOOLCHAIN=local go env GOVERSION 2>/dev/null) || continue
		have=${have#go}
		if [ "$(printf '%s\n' "$want" "$have" | sort -V | head -n 1)" = "$want" ]; then
			PATH=$dir$PATH
			return
		fi
	done
	[ -n "$have" ] || die "Go is not installed; this needs Go $want or later: https://go.dev/dl"
	die "Go $have is too old; this needs Go $want or later: https://go.dev/dl"
}

# ready says whether build/ is somebody else's, who made it ready: then it is
# used as it is.
ready() { [ ! -w build ] && [ -x build/sweep ] && [ -e build/manifest.json ] && [ -e build/bare/bare.elf ]; }

build() {
	find_go
	mkdir -p build 2>/dev/null || true
	[ -w build ] || die "$PWD/build can't be written: make a checkout of your own"
	# An account without a home has no place for Go's caches either.
	[ -w "${HOME:-/nonexistent}" ] || export GOPATH=$PWD/build/go GOCACHE=$PWD/build/go/cache GOFLAGS="${GOFLAGS:-} -modcacherw"
	local version
	version=$(git describe --always --dirty 2>/dev/null || echo unknown)
	[ -x build/sweep ] || say "building the program (the first time takes a minute)"
	# -o alone doesn't rewrite what hasn't changed; go build finds out in a
	# fraction of a second.
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-X main.version=$version" -o build/ ./cmd/sweep ||
		die "go build failed; its words stand above (no network for the modules, perhaps)"
}

# pktio builds the program that the kit is tried with, where DPDK's library is.
# It is no part of an experiment: without it only --fault and the system paced
# are missing, and they say so.
pktio() {
	stale build/pktio go.mod cmd/pktio internal/pktio internal/fault || return 0
	pkg-config --exists libdpdk 2>/dev/null || return 0
	say "building pktio"
	CGO_ENABLED=1 go build -tags dpdk -trimpath -buildvcs=false -o build/pktio.new ./cmd/pktio ||
		die "pktio could not be built; the words stand above"
	mv build/pktio.new build/pktio
}

# stale says whether a file is missing, or older than one in the folders.
stale() {
	local made=$1
	shift
	[ ! -e "$made" ] || [ -n "$(find "$@" -newer "$made" -print -quit)" ]
}

# compile runs gcc as all C here is compiled: to OUT, from what is in folders.
compile() {
	local out=$1
	shift
	mkdir -p "$(dirname "$out")"
	gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$out.new" "$@" || die "$out could not be compiled; gcc's words stand above"
	mv "$out.new" "$out"
}

# guests compiles the guests that need gcc alone.
guests() {
	local shared=internal/guest/c bare=internal/bare/src sender=internal/linux/sender
	if stale build/bare/bare.elf "$shared" "$bare"; then
		# No library, no operating system, no vector registers, and nothing
		# that the compiler adds for a program that has them.
		compile build/bare/bare.elf -ffreestanding -fno-tree-loop-distribute-patterns -fno-pic -no-pie -static -nostdlib \
			-fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables -mno-red-zone -mgeneral-regs-only \
			-Wl,--build-id=none -Wl,-z,noexecstack -Wl,-T,"$bare/bare.ld" "$bare"/*.S "$bare"/*.c "$shared"/*.c
	fi
	if stale build/linux-kernel/sender "$shared" "$sender"; then
		compile build/linux-kernel/sender -static "$sender"/*.c "$shared"/*.c
	fi
}

# unikraft_image is where the kit looks for the guest unikraft.
unikraft_image=build/unikraft/sweep_qemu-x86_64

# kraft_build makes the guest unikraft with Unikraft's own tool, in a copy of
# our sources, for it leaves its files beside them. That it fails is no reason
# to stop: every other guest can run.
kraft_build() {
	command -v kraft >/dev/null || return 0
	stale "$unikraft_image" unikraft/app internal/guest/c || return 0
	# Not again and again, before each run, what failed and would again.
	stale build/unikraft/kraft.failed unikraft/app internal/guest/c || return 0
	say "kraft builds the guest unikraft"
	local copy=build/unikraft/src
	rm -rf "$copy"
	mkdir -p "$copy/unikraft" "$copy/internal/guest"
	cp -r unikraft/app "$copy/unikraft/"
	cp -r internal/guest/c "$copy/internal/guest/"
	if {
		(cd "$copy/unikraft/app" && kraft build --log-type basic --no-prompt --plat qemu --arch x86_64) &&
			cp "$copy/unikraft/app/.unikraft/build/sweep_qemu-x86_64" "$unikraft_image"
	} >build/unikraft/kraft.log 2>&1 </dev/null; then
		rm -f build/unikraft/kraft.failed
	else
		touch build/unikraft/kraft.failed
		tail -n 5 build/unikraft/kraft.log >&2
		say "kraft could not build it: build/unikraft/kraft.log has its words, and removing build/unikraft/kraft.failed lets it try again; the other guests run without it"
	fi
}

# unikraft_make makes it with Unikraft's make, in a checkout.
unikraft_make() {
	local dir=${1:-}
	[ -n "$dir" ] || die "--unikraft needs a checkout of Unikraft v0.17: git clone --branch RELEASE-0.17.0 --depth 1 https://github.com/unikraft/unikraft DIR"
	dir=$(cd "$dir" 2>/dev/null && pwd) || die "there is no folder $1"
	if [ ! -e "$dir/version.mk" ] || [ ! -d "$dir/lib/uknetdev" ]; then die "$dir is no checkout of Unikraft"; fi
	grep -q 'UK_SUBVERSION = 17$' "$dir/version.mk" || die "$dir is not Unikraft v0.17: $(tr '\n' ' ' <"$dir/version.mk")"
	local tool
	for tool in make gcc flex bison python3; do
		command -v "$tool" >/dev/null || die "Unikraft's build needs $tool: sudo apt-get install make gcc flex bison python3"
	done
	local out=$PWD/build/unikraft/make
	mkdir -p "$out"
	say "make in $dir (the log is build/unikraft/make.log)"
	local make=(make -C "$dir" "A=$PWD/unikraft/app" "O=$out" "C=$out/.config")
	if ! { "${make[@]}" "UK_DEFCONFIG=$PWD/unikraft/app/defconfig" defconfig && "${make[@]}" -j"$(nproc)"; } >build/unikraft/make.log 2>&1; then
		tail -n 15 build/unikraft/make.log >&2
		die "Unikraft's build failed; the end of its log stands above"
	fi
	cp "$out/sweep_qemu-x86_64" "$unikraft_image"
	say "made $unikraft_image"
}

image() {
	build/sweep image >&2 && return
	# The kernel's package may be newer than the lists.
	if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
		say "updating apt's lists, to try once more"
		apt-get update -qq >&2 && build/sweep image >&2 && return
	fi
	die "the guest's image could not be built"
}

case $stage in
--packages) packages ;;
--unikraft) unikraft_make "${2:-}" ;;
--build) if ! ready; then build; fi ;;
*)
	packages
	if ! ready; then
		build
		guests
		pktio
		kraft_build
		image
	fi
	;;
esac
