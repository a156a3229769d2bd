#!/usr/bin/env bash
# Run every fuzz harness for some seconds over its corpus.
#
#   tests/fuzz/run.sh [SECONDS [NAME...]]
#
# SECONDS: of each harness (10). NAME: "pktline" for fuzz_pktline; all of
# them without. Builds the preset `fuzz` first. New inputs are kept in
# build/fuzz/corpus, a crash's input in build/fuzz/crashes; the tree's corpus
# is only read. Ends with "N passed, N failed".
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
seconds=${1:-10}
shift || true

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
	for file in tests/fuzz/fuzz_*.c; do
		name=${file##*/fuzz_}
		names+=("${name%.c}")
	done
fi

cmake --preset fuzz >/dev/null &&
	cmake --build build/fuzz --parallel "$(nproc)" \
		--target "${names[@]/#/fuzz_}" >build/fuzz/build.log 2>&1 || {
	tail -n 20 build/fuzz/build.log
	echo "0 passed, 1 failed"
	exit 1
}
mkdir -p build/fuzz/crashes

run_one() {
	local name=$1 kept=build/fuzz/corpus/$1
	mkdir -p "$kept" "tests/fuzz/corpus/$name"
	if build/fuzz/tests/fuzz/fuzz_"$name" "$kept" \
		"tests/fuzz/corpus/$name" -max_total_time="$seconds" \
		-timeout=30 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="build/fuzz/crashes/$name-" \
		>"build/fuzz/$name.log" 2>&1; then
		echo "ok     $name: $(sed -n \
			's/stat::number_of_executed_units: *//p' \
			"build/fuzz/$name.log") inputs"
	else
		echo "FAILED $name: build/fuzz/$name.log"
		grep -m 3 -E 'ERROR|SUMMARY|Assertion' "build/fuzz/$name.log"
	fi
}
export -f run_one
export seconds

results=$(printf '%s\n' "${names[@]}" |
	xargs -P "$(nproc)" -I NAME "$BASH" -c 'run_one NAME')
echo "$results"
passed=$(grep -c '^ok ' <<<"$results")
failed=$(grep -c '^FAILED ' <<<"$results")
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -eq ${#names[@]} ]
