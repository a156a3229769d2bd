#!/usr/bin/env bash
# Run a command on this tree in a fresh Debian 13, as root.
#
#   tests/debian13.sh [--work] [--reuse] [COMMAND [ARG...]]
#
# Without a COMMAND: deploy/quickstart.sh, then tests/run.sh. COMMAND starts
# in the copy of the tree, which is HEAD; --work takes the working tree.
# --reuse keeps the Debian and what was installed into it for the next
# --reuse; otherwise each run has a new one, which goes with it.
#
# The first run fetches Debian 13 with debootstrap from the mirror that this
# host uses. $SALLYPORT_DEBIAN13_DIR (/var/cache/sallyport-debian13) keeps it
# and the packages that runs have fetched. The kernel and the network are
# the host's; mounts and processes are its own and end with the command.
set -euo pipefail

readonly suite=trixie
readonly cache=${SALLYPORT_DEBIAN13_DIR:-/var/cache/sallyport-debian13}
# Whoever a test runs a program as reaches it.
readonly place=/srv/sallyport
source_dir=$(cd "$(dirname "$0")/.." && pwd)
readonly source_dir

fail() {
	echo "debian13: $*" >&2
	exit 1
}

# The first address in Debian's own apt sources here that ends in /$1.
mirror_of() {
	local file
	for file in /etc/apt/sources.list \
		/etc/apt/sources.list.d/debian.sources; do
		[ ! -e "$file" ] || sed -En \
			"/^#/d; s,.*(https?://[^ ]+/$1)/?( .*)?\$,\1,p" "$file"
	done | head -n 1
}

bootstrap() {
	[ -e "$cache/base/.complete" ] && return
	command -v debootstrap >/dev/null ||
		fail "debootstrap is not installed (deploy/deps.sh test)"
	local mirror security
	mirror=$(mirror_of debian)
	mirror=${mirror:-http://deb.debian.org/debian}
	security=$(mirror_of debian-security)
	security=${security:-http://security.debian.org/debian-security}
	echo "debian13: fetching $suite from $mirror into $cache" >&2
	rm -rf "$cache/base"
	debootstrap --variant=minbase "$suite" "$cache/base" "$mirror" >&2
	cat >"$cache/base/etc/apt/sources.list" <<-LIST
		deb $mirror $suite main
		deb $mirror $suite-updates main
		deb $security $suite-security main
	LIST
	touch "$cache/base/.complete"
}

# Give $1 this host's way to the network: names, proxy, apt's options.
copy_network() {
	local file
	cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
	for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
		[ -f "$file" ] || continue
		grep -qiE 'Acquire::(https?|proxy|Check|Retries|Force)' \
			"$file" && cp "$file" "$1/etc/apt/apt.conf.d/"
	done
	if [ -d /usr/local/share/ca-certificates ]; then
		cp -r /usr/local/share/ca-certificates "$1/usr/local/share/"
	fi
}

# Packages fetched before need not be fetched again: hard links, both ways.
share_packages() {
	mkdir -p "$2"
	find "$1" -maxdepth 1 -name '*.deb' -exec cp -lnt "$2" {} +
}

copy_source() {
	rm -rf "${1:?}$place"
	mkdir -p "$1$place"
	if [ "$2" = head ]; then
		git -C "$source_dir" archive HEAD
	else
		git -C "$source_dir" ls-files -co --exclude-standard |
			while IFS= read -r file; do
				[ -e "$source_dir/$file" ] && echo "$file"
			done | tar -C "$source_dir" -cf - -T -
	fi | tar -C "$1$place" -xf -
	# tests/run.sh asks git which files are the tree's.
	git -C "$1$place" init -q
	git -C "$1$place" add -A
}

# Runs in a mount and pid namespace of its own. A chroot would not do: the
# kernel makes no user namespace for a process whose root is not a mount's.
enter() {
	local root=$1
	shift
	mount --bind "$root" "$root"
	cd "$root"
	mount -t proc proc proc
	mount --rbind /sys sys
	mount --rbind /dev dev
	mount -t tmpfs -o mode=755 run run
	mkdir -p .outside
	pivot_root . .outside
	cd /
	umount -l .outside
	rmdir .outside
	cd "$place"
	# What the caller exports must not decide what the tests find, but
	# its proxy must serve here too.
	exec env -i HOME=/root USER=root LANG=C.UTF-8 TERM="${TERM:-dumb}" \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		${http_proxy:+http_proxy="$http_proxy"} \
		${https_proxy:+https_proxy="$https_proxy"} \
		${no_proxy:+no_proxy="$no_proxy"} "$@"
}

# Nothing runs on in a Debian that is being removed.
cleanup() {
	if [ -n "$inside" ]; then
		kill -KILL "$inside" 2>/dev/null || true
		wait "$inside" || true
	fi
	[ -z "$remove" ] || rm -rf "$remove"
}

main() {
	local what=head reuse=no
	# Read when all ends, also from within here.
	remove='' inside=''
	trap cleanup EXIT
	while [ $# -gt 0 ]; do
		case $1 in
		--work) what=work ;;
		--reuse) reuse=yes ;;
		-h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
		--) shift; break ;;
		-*) fail "unknown option $1" ;;
		*) break ;;
		esac
		shift
	done
	[ $# -gt 0 ] ||
		set -- sh -c 'deploy/quickstart.sh && exec tests/run.sh'
	[ "$(id -u)" -eq 0 ] || fail "must be root (sudo $0)"

	mkdir -p "$cache/packages"
	exec 9>"$cache/lock"
	flock 9
	bootstrap
	if [ "$reuse" = yes ]; then
		root=$cache/reused
		[ -e "$root/.complete" ] || {
			rm -rf "$root"
			cp -a "$cache/base" "$root"
		}
	else
		root=$(mktemp -d "$cache/run.XXXXXX")
		remove=$root
		cp -a "$cache/base/." "$root"
	fi
	exec 9>&-

	copy_network "$root"
	share_packages "$cache/packages" "$root/var/cache/apt/archives"
	copy_source "$root" "$what"
	local status=0
	# Not waited for in the foreground: unshare hears no SIGTERM.
	unshare --mount --pid --fork --kill-child \
		"$BASH" "$0" --enter "$root" "$@" <&0 &
	inside=$!
	wait "$inside" || status=$?
	inside=
	share_packages "$root/var/cache/apt/archives" "$cache/packages"
	return "$status"
}

if [ "${1-}" = --enter ]; then
	shift
	enter "$@"
else
	main "$@"
fi
