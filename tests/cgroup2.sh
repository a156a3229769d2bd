#!/usr/bin/env bash
# Run what concerns cgroups where they are of version 2 alone: in a virtual
# machine with Debian's kernel and systemd, whatever the host's are.
#
#   tests/cgroup2.sh [BUILD [STEP...]]
#
# BUILD: a built tree (default: build/dev); STEP: one of those that
# tests/cgroup2/inside.sh names (default: all).
#
# The machine's files are this host's, read-only, and what it writes is gone
# with it; logs are in build/test-logs/cgroup2. The last line is "N passed,
# N failed". Needs root, a file system that holds / and the build (other
# mounts are not seen), 4 GB of memory and deploy/deps.sh cgroup2. Not part of
# run.sh: it takes some minutes with /dev/kvm, most of an hour without. The build
# must not change meanwhile.
#
# The first run fetches the kernel's package with apt. $SALLYPORT_CGROUP2_DIR
# (/var/cache/sallyport-cgroup2) keeps it, unpacked.
set -euo pipefail

readonly cache=${SALLYPORT_CGROUP2_DIR:-/var/cache/sallyport-cgroup2}
# Debian's kernel has them as modules.
readonly modules='virtio_pci virtio_blk 9pnet_virtio 9p crc32c_generic ext4
	overlay
	nf_tables nft_redir nft_reject_inet nft_ct nft_nat nft_chain_nat veth
	tun dummy loop'
source_dir=$(cd "$(dirname "$0")/.." && pwd)
readonly source_dir

fail() {
	echo "cgroup2: $*" >&2
	exit 1
}

# Fetched, not installed: no host boots it.
fetch_kernel() {
	[ ! -e "$cache/kernel/.complete" ] || return 0
	local package
	package=$(apt-cache depends linux-image-amd64 |
		sed -n 's/^ *Depends: //p' | head -n 1)
	[ -n "$package" ] || fail "apt knows no linux-image-amd64"
	echo "cgroup2: fetching $package into $cache" >&2
	rm -rf "$cache/kernel"
	mkdir -p "$cache/kernel"
	(cd "$cache/kernel" && apt-get download "$package" >/dev/null &&
		dpkg-deb -x ./*.deb . && rm ./*.deb)
	busybox depmod -b "$cache/kernel" \
		"$(basename "$cache"/kernel/lib/modules/*)"
	touch "$cache/kernel/.complete"
}

# The file of module $1, and of those that it needs before it.
files_of() {
	local name=${1//[-_]/[-_]}
	sed -nE "s,^(.*/$name\.ko[^:]*):,\1,p" "$2/modules.dep" |
		tr ' ' '\n' | tac
}

# What mounts the machine's root and leaves all else to systemd.
make_initramfs() {
	local root=$1 name file version
	version=$(basename "$cache"/kernel/lib/modules/*)
	local from=$cache/kernel/lib/modules/$version
	mkdir -p "$root"/{bin,dev,lower,modules,new,proc,rw,sys}
	cp "$(command -v busybox)" "$root/bin/busybox"
	install -m 755 "$source_dir/tests/cgroup2/init" "$root/init"
	for name in $modules; do
		for file in $(files_of "$name" "$from"); do
			[ ! -e "$root/modules/$(basename "$file")" ] ||
				continue
			cp "$from/$file" "$root/modules/"
			basename "$file" >>"$root/modules/order"
		done
	done
	(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1)
}

# Where no processor is told of, /dev/kvm takes none but kernels made for it.
accelerator() {
	[ -w /dev/kvm ] && grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo &&
		echo kvm || echo tcg,thread=multi
}

start() {
	local place=$1 logs=$2 build=$3
	shift 3
	truncate -s 8G "$place/disk"
	mke2fs -q -t ext4 -F "$place/disk"
	make_initramfs "$place/initramfs" >"$place/initrd"
	exec qemu-system-x86_64 -machine q35 -accel "$(accelerator)" -cpu max \
		-smp 2 -m 4096 -nodefaults -no-reboot -display none \
		-serial "file:$logs/console.log" \
		-kernel "$cache"/kernel/boot/vmlinuz-* \
		-initrd "$place/initrd" \
		-append "console=ttyS0 edd=off no_timer_check mitigations=off panic=-1 sallyport.build=$build
 sallyport.steps=$(IFS=, && echo "$*")
 sallyport.source=$place/source systemd.unit=tests.target" \
		-drive "file=$place/disk,if=virtio,format=raw,cache=unsafe" \
		-fsdev local,id=root,path=/,security_model=passthrough,readonly=on,multidevs=remap \
		-device virtio-9p-pci,fsdev=root,mount_tag=root \
		-fsdev "local,id=logs,path=$logs,security_model=none" \
		-device virtio-9p-pci,fsdev=logs,mount_tag=logs \
		-object rng-random,id=rng,filename=/dev/urandom \
		-device virtio-rng-pci,rng=rng
}

# The machine does not see what changes here while it runs.
copy_source() {
	mkdir "$1"
	git -C "$source_dir" ls-files -co --exclude-standard |
		while IFS= read -r file; do
			[ ! -e "$source_dir/$file" ] || echo "$file"
		done | tar -C "$source_dir" -cf - -T - | tar -C "$1" -xf -
}

# What was removed while the machine is up is no longer seen by anyone.
cleanup() {
	[ -z "$machine" ] || kill "$machine" 2>/dev/null || true
	[ -z "$place" ] || rm -rf "$place"
}

main() {
	local build=${1:-build/dev} logs=$source_dir/build/test-logs/cgroup2
	place='' machine=''
	trap cleanup EXIT
	case $build in
	-h | --help) sed -n '2,19s/^# \{0,1\}//p' "$0"; exit 0 ;;
	esac
	build=$(cd "$source_dir" && realpath "$build")
	[ "$(id -u)" -eq 0 ] || fail "must be root (sudo $0)"
	[ -x "$build/bin/sallyport" ] || fail "$build has no sallyport: build it"
	command -v qemu-system-x86_64 >/dev/null ||
		fail "qemu is not installed (deploy/deps.sh cgroup2)"
	fetch_kernel
	# Not in /tmp, where the machine has a disk of its own.
	place=$(mktemp -d "$cache/run.XXXXXX")
	chmod 755 "$place"
	copy_source "$place/source"
	rm -rf "$logs"
	mkdir -p "$logs"
	: >"$logs/said"
	(start "$place" "$logs" "$build" "${@:2}") &
	machine=$!
	tail -f -n +1 --pid="$machine" "$logs/said"
	wait "$machine" || fail "the machine ended (see $logs/console.log)"
	machine=''
	local passed failed
	read -r passed failed <"$logs/counts" ||
		fail "it ended before its tests (see $logs/console.log)"
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}

main "$@"
