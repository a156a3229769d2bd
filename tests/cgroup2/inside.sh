#!/usr/bin/env bash
# In tests/cgroup2.sh's machine: the tests, once for each place that systemd
# gives a process. Logs go to /mnt, and the sums as "passed failed".
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
readonly uid=1000
passed=0 failed=0 began=$SECONDS
export PYTHONDONTWRITEBYTECODE=1

# Processes in a delegated group go below it: as who delegates to a whole
# test run would.
readonly below='own=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)
mkdir "$own/tests" && echo 0 >"$own/tests/cgroup.procs" && exec "$@"'

# step NAME COMMAND...: pytest's words are in NAME.log.
step() {
	local name=$1 log=/mnt/$1.log status=0 ok bad
	shift
	case ,${SALLYPORT_STEPS:-$name}, in
	*,$name,*) ;;
	*) return ;;
	esac
	"$@" >"$log" 2>&1 </dev/null || status=$?
	read -r ok bad < <(tail -n 1 "$log" | awk '{
		for (i = 2; i <= NF; i++) {
			if ($i ~ /^passed/) ok = $(i - 1)
			if ($i ~ /^(failed|errors?|skipped|xfailed)/)
				bad += $(i - 1)
		}
		print ok + 0, bad + 0
	}')
	[ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
	passed=$((passed + ok)) failed=$((failed + bad))
	printf '%5d s  %s: %d passed, %d failed\n' $((SECONDS - began)) \
		"$name" "$ok" "$bad" >>/mnt/said
	[ "$bad" -eq 0 ] || tail -n 60 "$log" | sed 's/^/         | /' \
		>>/mnt/said
	echo "$passed $failed" >/mnt/counts
}

# pytest FILES...: short paths, as Unix sockets need.
tests() {
	local place=$1
	shift
	echo /usr/bin/python3 -m pytest -q --disable-warnings -p no:cacheprovider \
		--basetemp="/tmp/$place" "$@"
}

as_tester() {
	setpriv --reuid=$uid --regid=$uid --clear-groups env -i PATH="$PATH" \
		HOME=/home/tester USER=tester LANG=C.UTF-8 \
		PYTHONDONTWRITEBYTECODE=1 SALLYPORT_BUILD="$SALLYPORT_BUILD" \
		XDG_RUNTIME_DIR=/run/user/$uid "$@"
}

unit() {
	systemd-run --quiet --wait --collect --pipe \
		--working-directory="$PWD" -E PYTHONDONTWRITEBYTECODE=1 \
		-E SALLYPORT_BUILD="$SALLYPORT_BUILD" -E LANG=C.UTF-8 \
		-E PATH="$PATH" "$@"
}

main() {
	local e=tests/e2e
	local own="$e/test_sandbox_limits.py $e/test_packcheck_group.py"
	# Of a service: what pauses, what is ended from outside.
	local words='pause or rests or killed or limit or ordinary'
	mount | grep cgroup >/mnt/machine.log
	uname -a >>/mnt/machine.log
	systemctl --version >>/mnt/machine.log
	systemctl start "user@$uid.service" || return
	# The words of tests() are to be split.
	# shellcheck disable=SC2046,SC2086
	{
	step places $(tests p tests/cgroup2)
	step root unit $(tests r $own $e/test_sandbox_process.py)
	step root-host unit $(tests h $e/test_host.py) -k "$words"
	step root-delegated unit -p Delegate=yes \
		bash -c "$below" - $(tests d $own)
	step tester unit --uid=$uid $(tests t $own)
	step tester-delegated as_tester systemd-run --user --scope --quiet \
		-p Delegate=yes bash -c "$below" - $(tests u $own \
		$e/test_host.py) -k "$words or test_sandbox or test_packcheck"
	step doctor unit $(tests o $e/test_session.py -k doctor)
	}
}

main 2>/mnt/inside.log
journalctl -b --no-pager >/mnt/journal.log 2>&1
sync
