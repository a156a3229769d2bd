#!/usr/bin/env bash
# Everything that says whether Sallyport works: install what is missing,
# build in every way, run every test.
#
#   tests/run.sh [--quick]     here; --quick: one build, no fuzzing
#   tests/run.sh --debian13    in a fresh Debian 13, after deploy/quickstart.sh
#
# A line a step; what a step said is in build/test-logs. The last line is
# "N passed, N failed"; exits 1 if anything failed. Nothing is skipped.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 1
readonly logs=build/test-logs fuzz_seconds_in_all=80
# Lines that say nothing about what failed: ctest's and ninja's progress.
readonly went_well='^ +Start +[0-9]+: |Passed +[0-9.]+ sec$|^\[[0-9/]+\] (B|L)'
passed=0 failed=0 began=$SECONDS

# say STATUS STEP WHAT
say() {
	printf '%5d s  %-6s %s: %s\n' $((SECONDS - began)) "$1" "$2" "$3"
}

# The name of a step as that of its log.
log_of() {
	echo "$logs/$(tr -c 'a-z0-9\n' - <<<"$1").log"
}

declare -A pids

# begin NAME COMMAND...: start a step.
begin() {
	local name=$1
	shift
	"$@" >"$(log_of "$name")" 2>&1 </dev/null &
	pids[$name]=$!
}

# finish NAME COUNTER: wait for it; COUNTER reads its log and prints
# "passed failed".
finish() {
	local name=$1 counter=$2 log status=0 counts
	log=$(log_of "$name")
	wait "${pids[$name]}" || status=$?
	read -r -a counts < <("$counter" "$log" "$status")
	# A step that failed without a failed test failed itself.
	[ "$status" -eq 0 ] || [ "${counts[1]:-0}" -gt 0 ] || counts[1]=1
	passed=$((passed + ${counts[0]:-0}))
	failed=$((failed + ${counts[1]:-0}))
	if [ "${counts[1]:-0}" -eq 0 ]; then
		say ok "$name" "${counts[0]:-0} passed"
	else
		say FAILED "$name" "${counts[0]:-0} passed, ${counts[1]} failed"
		grep -vE "$went_well" "$log" | tail -n 200 |
			sed 's/^/         | /'
	fi
}

# step NAME COUNTER COMMAND...: the two together.
step() {
	local name=$1 counter=$2
	shift 2
	begin "$name" "$@"
	finish "$name" "$counter"
}

# ---- counters: LOG STATUS -> "passed failed" ----

# A step that is one test.
count_one() {
	[ "$2" -eq 0 ] && echo "1 0" || echo "0 1"
}

count_ctest() {
	sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests failed out of ([0-9]+)$/\2 \1/p' \
		"$1" | awk '{print $1 - $2, $2}'
}

# "3 failed, 127 passed, 2 warnings, 1 error in 18.58s"
count_pytest() {
	# A worker that ends may have words of its own after it.
	grep -E '^[0-9]+ (passed|failed|errors?|skipped|warnings?)' "$1" |
		tail -n 1 | awk '{
		for (i = 2; i <= NF; i++) {
			if ($i ~ /^passed/) passed = $(i - 1)
			if ($i ~ /^(failed|errors?|skipped|xfailed)/)
				failed += $(i - 1)
		}
		print passed + 0, failed + 0
	}'
}

count_last_line() {
	sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$1"
}

# ---- steps ----

check_format() {
	git ls-files -z '*.c' '*.h' |
		xargs -0 clang-format-19 --dry-run --Werror
}

check_shell() {
	local file
	for file in $(git ls-files '*.sh' .ci/run deploy/forge/forge); do
		bash -n "$file" || return 1
	done
}

build() {
	cmake --preset "$1" &&
		cmake --build "build/$1" --parallel "$(nproc)"
}

# Two for each core: with one, a sixth of both is idle while tests wait.
run_ctest() {
	ctest --test-dir "build/$1" --parallel "$(($(nproc) * 2))" \
		--output-on-failure --no-tests=error
}

# What the tests are compiled to is kept in build/pycache, once for all
# processes of both suites (tests/e2e/conftest.py), and not among the sources.
export PYTHONDONTWRITEBYTECODE=1
collect_tests() {
	SALLYPORT_BUILD=$PWD/build/$1 /usr/bin/python3 -m pytest -q \
		--collect-only tests/e2e
}

# Files side by side, three for two cores: a worker computes less than half of
# its time (of both suites 1,240 s of CPU, on a busy machine). Short paths, as
# Unix sockets need; packs of 300 MB do not stay.
run_pytest() {
	local place status=0 workers=$((($(nproc) * 3 + 1) / 2))
	place=$(mktemp -d /tmp/sallyport-e2e.XXXXXX)
	SALLYPORT_BUILD=$PWD/build/$1 /usr/bin/python3 -m pytest -q \
		--disable-warnings -n "$workers" --dist loadfile \
		--basetemp="$place/t" tests/e2e ||
		status=$?
	rm -rf "$place"
	return "$status"
}

fuzz() {
	local count each
	count=$(find tests/fuzz -name 'fuzz_*.c' | wc -l)
	each=$((fuzz_seconds_in_all * $(nproc) / count))
	tests/fuzz/run.sh $((each < 10 ? each : 10))
}

main() {
	local quick=no preset
	case ${1-} in
	"") ;;
	--quick) quick=yes ;;
	--debian13) exec tests/debian13.sh ;;
	*) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2 ;;
	esac

	mkdir -p "$logs"
	deploy/deps.sh test || {
		echo "0 passed, 1 failed"
		exit 1
	}
	step "check includes" count_one tools/check_includes
	step "check sizes" count_one tools/check_sizes
	step "check protocol" count_one tools/wire_doc --check
	step "check attacks" count_one tools/check_attacks
	step "check format" count_one check_format
	step "check shell" count_one check_shell
	if [ "$quick" = yes ]; then
		step "build dev" count_one build dev
		step "unit, contract, replay: dev" count_ctest run_ctest dev
		step "end to end: dev" count_pytest run_pytest dev
	else
		for preset in dev asan release clang; do
			step "build $preset" count_one build "$preset"
		done
		begin "end to end: collected" collect_tests dev
		step "unit, contract, replay: dev" count_ctest run_ctest dev
		finish "end to end: collected" count_one
		step "unit, contract, replay: asan" count_ctest run_ctest asan
		step "fuzz" count_last_line fuzz
		begin "end to end: sanitized" run_pytest asan
		begin "end to end: hardened" run_pytest release
		finish "end to end: sanitized" count_pytest
		finish "end to end: hardened" count_pytest
		step "quickstart" count_one deploy/quickstart.sh
	fi
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}

main "$@"
