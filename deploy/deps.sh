#!/usr/bin/env bash
# Install the packages that Sallyport is built and tested with.
#
#   deploy/deps.sh [build|test|bench|all|cgroup2] [--check]
#
# build (the default) is enough to build and run; test adds what
# tests/run.sh needs, bench adds the peers that tests/bench measures;
# cgroup2 adds to test what tests/cgroup2.sh starts its machine with.
# --check installs nothing: it names what is missing and exits 1.
# Needs apt (Debian 12, Debian 13, Ubuntu 24.04) and root or sudo.
set -euo pipefail

build_packages() {
	echo build-essential lld cmake ninja-build pkg-config ca-certificates \
		libssl-dev libevent-dev libc-ares-dev libgit2-dev \
		libsqlite3-dev libfyaml-dev libjansson-dev libseccomp-dev \
		libcap-ng-dev libnftnl-dev libmnl-dev zlib1g-dev \
		libpsl-dev libidn2-dev libunistring-dev uthash-dev libpcre2-dev \
		libbrotli-dev libzstd-dev libvectorscan-dev libnghttp2-dev \
		libwslay-dev liblua5.4-dev libjwt-dev git openssl
	# Debian 13 and Ubuntu 24.04 package llhttp; Debian 12 ships its C
	# sources inside node-llhttp.
	if apt-cache show libllhttp-dev >/dev/null 2>&1; then
		echo libllhttp-dev
	else
		echo node-llhttp
	fi
}

# What deploy/quickstart.sh and the end-to-end tests serve a forge with.
forge_packages() {
	echo nginx fcgiwrap curl python3 uidmap
}

test_packages() {
	forge_packages
	echo git-lfs libcmocka-dev python3-pytest \
		python3-pytest-xdist python3-openssl openssh-client \
		nodejs default-jdk-headless gccgo strace iproute2 iputils-ping \
		nftables groff-base debootstrap procps wget slowhttptest \
		tinyproxy microsocks nghttp2-client python3-requests python3-botocore python3-h2 python3-grpcio \
		python3-websockets python3-ipython python3-pip npm gh \
		busybox-static skopeo umoci \
		python3-pygit2 python3-dulwich libjgit-java \
		clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev \
		libnss3-tools
	# Ubuntu has it as a snap, which is for the user to install.
	if apt-cache show chromium >/dev/null 2>&1; then
		echo chromium
	fi
}

bench_packages() {
	echo bubblewrap wrk squid-openssl haproxy mitmproxy nghttp2-client \
		crun socat ripgrep npm
}

cgroup2_packages() {
	echo qemu-system-x86 systemd-sysv libpam-systemd dbus-user-session \
		busybox-static e2fsprogs
}

wanted() {
	case $1 in
	build) build_packages; forge_packages ;;
	test) build_packages; test_packages ;;
	bench) build_packages; forge_packages; bench_packages ;;
	all) build_packages; test_packages; bench_packages ;;
	cgroup2) build_packages; test_packages; cgroup2_packages ;;
	*) echo "deps: unknown set '$1' (build, test, bench, all, cgroup2)" >&2
	   exit 2 ;;
	esac
}

is_installed() {
	dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null |
		grep -qx installed && return 0
	# A tool that stands on PATH without its package (a node built by
	# hand, say) serves as well.
	case $1 in
	nodejs) command -v node >/dev/null ;;
	npm) command -v npm >/dev/null ;;
	default-jdk-headless) command -v javac >/dev/null ;;
	mitmproxy) command -v mitmdump >/dev/null ;;
	*) return 1 ;;
	esac
}

# Is $1 a package that this release has under this name?
is_known() {
	apt-cache show "$1" >/dev/null 2>&1
}

# What to do about a package that this release does not have: fails where
# nothing works without it.
do_without() {
	case $1 in
	# Not in Debian 13.
	mitmproxy) echo "tests/bench/proxies needs --without mitmproxy, or a" \
		"mitmdump on PATH (pip install mitmproxy)" ;;
	*) return 1 ;;
	esac
}

# Debian starts what it installs, and at every boot. The tests start their
# own; nobody asked for a web server on port 80.
install_unstarted() {
	local policy=/usr/sbin/policy-rc.d own=no status=0 name
	if [ ! -e "$policy" ]; then
		own=yes
		printf '%s\n' '#!/bin/sh' \
			'case $1 in nginx* | fcgiwrap* | tinyproxy* | microsocks*) exit 101 ;; esac' |
			"${as_root[@]}" tee "$policy" >/dev/null
		"${as_root[@]}" chmod 755 "$policy"
	fi
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install \
		-y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@" \
		>/dev/null || status=$?
	[ "$own" = no ] || "${as_root[@]}" rm -f "$policy"
	for name in nginx fcgiwrap tinyproxy microsocks; do
		[[ " $* " == *" $name "* ]] || continue
		"${as_root[@]}" systemctl -q disable "$name.service" \
			>/dev/null 2>&1 || true
		"${as_root[@]}" systemctl -q disable "$name.socket" \
			>/dev/null 2>&1 || true
	done
	return "$status"
}

main() {
	local set=build check=no arg
	for arg in "$@"; do
		case $arg in
		--check) check=yes ;;
		-h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
		*) set=$arg ;;
		esac
	done
	command -v apt-get >/dev/null || {
		echo "deps: this system has no apt-get; install by hand:" \
			"$(wanted "$set" | tr '\n' ' ')" >&2
		exit 1
	}

	local missing=() name
	for name in $(wanted "$set"); do
		is_installed "$name" || missing+=("$name")
	done
	if [ ${#missing[@]} -eq 0 ]; then
		echo "deps: everything for '$set' is installed"
		exit 0
	fi
	if [ "$check" = yes ]; then
		echo "deps: missing for '$set': ${missing[*]}"
		exit 1
	fi

	as_root=()
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || {
			echo "deps: run as root, or install sudo, to install:" \
				"${missing[*]}" >&2
			exit 1
		}
		as_root=(sudo)
	fi
	echo "deps: updating the package lists"
	"${as_root[@]}" apt-get update -qq
	# The lists may only now say which llhttp this release has.
	missing=()
	local lacking=() advice
	for name in $(wanted "$set"); do
		is_installed "$name" && continue
		if is_known "$name"; then
			missing+=("$name")
			continue
		fi
		advice=$(do_without "$name") || {
			echo "deps: this release has no package '$name'" >&2
			exit 1
		}
		lacking+=("this release has no package '$name': $advice")
	done
	if [ ${#missing[@]} -gt 0 ]; then
		echo "deps: installing ${missing[*]}"
		install_unstarted "${missing[@]}"
	fi
	[ ${#lacking[@]} -eq 0 ] || printf 'deps: %s\n' "${lacking[@]}" >&2
	echo "deps: done"
}

main "$@"
