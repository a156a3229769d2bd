#!/usr/bin/env bash
# Sallyport in one go: install what is missing, build, and run a real session
# from end to end on this machine.
#
#   deploy/quickstart.sh
#
# A git forge with a real token (deploy/forge), a gateway that has it, and a
# sandbox that does not. Inside: git clones, commits and pushes its own
# branch, tries main, curl asks an allowed and a blocked host. Everything the
# sandbox had or received is then searched for the token. As root or as an
# ordinary user; leaves nothing behind but build/release.
set -euo pipefail

source_dir=$(cd "$(dirname "$0")/.." && pwd)
readonly source_dir build=$source_dir/build/release
readonly sallyport=$build/bin/sallyport
readonly gateway=$build/libexec/sallyport/sallyport-gateway
readonly branch=agent/42
# Of our own among the loopback addresses: another run may be under way.
readonly address=127.$((64 + $$ / 256 % 128)).$(($$ % 256)).2

step() {
	printf '\n== %s\n' "$*"
}

fail() {
	echo "quickstart: $*" >&2
	[ ! -s "$place/gateway.log" ] || tail -n 5 "$place/gateway.log" >&2
	exit 1
}

cleanup() {
	local status=$? tries
	if [ -n "${gateway_pid-}" ]; then
		kill "$gateway_pid" 2>/dev/null || true
		for tries in $(seq 100); do
			kill -0 "$gateway_pid" 2>/dev/null || break
			sleep 0.1
		done
		[ "$tries" -lt 100 ] || kill -9 "$gateway_pid" || true
	fi
	"$source_dir/deploy/forge/forge" stop "$place/forge" || true
	rm -rf "$place"
	exit "$status"
}

build() {
	local options=()
	# Tests need packages of their own.
	[ -e "$build/CMakeCache.txt" ] || options=(-DSALLYPORT_TESTS=OFF)
	(cd "$source_dir" && cmake --preset release "${options[@]}") >/dev/null
	cmake --build "$build" --parallel "$(nproc)" |
		sed -n '$p;/: error/p;/FAILED:/p'
}

start_gateway() {
	cat >"$place/gateway.yaml" <<-END
		state: $place/state
		run: $place/run
		dns:
		  hosts:
		    github.com: $address
		    allowed.example: $address
		    blocked.example: $address
		tls: {ca_bundle: $place/forge/ca.pem}
	END
	"$gateway" -c "$place/gateway.yaml" >"$place/gateway.log" 2>&1 &
	gateway_pid=$!
	export SALLYPORT_RUN=$place/run SALLYPORT_STATE=$place/state
	local tries
	for tries in $(seq 300); do
		"$sallyport" status >/dev/null 2>&1 && return
		kill -0 "$gateway_pid" 2>/dev/null || break
		sleep 0.1
	done
	fail "the gateway did not start (after $tries tries)"
}

write_policy() {
	cat >"$place/policy.yaml" <<-END
		version: 1
		name: quickstart
		network:
		  rules:
		    - name: allowed
		      hosts: [allowed.example]
		      ports: [$port]
		      methods: [GET]
		      action: allow
		  # The forge's address is loopback, which is forbidden otherwise.
		  addresses: {allow: [$address/32]}
		credentials:
		  - name: forge
		    secret: forge-token
		    attach: github
		    hosts: [github.com]
		    placeholder: {env: [GITHUB_TOKEN]}
		git:
		  - repo: $url
		    credential: forge
		    read: true
		    push: {branches: ["\${session.branch}"]}
	END
}

# What runs inside. It also gathers all that it can see, for the search
# outside: the token must not come in even to be searched for.
write_agent() {
	cat >"$1/agent.sh" <<-END
		echo "\$ env"
		env | sort
		export GIT_TRACE_CURL=\$PWD/evidence/git.trace GIT_TRACE_REDACT=0
		export GIT_AUTHOR_NAME=agent GIT_AUTHOR_EMAIL=agent@example
		export GIT_COMMITTER_NAME=agent GIT_COMMITTER_EMAIL=agent@example
		mkdir evidence
		run() {
			echo; echo "\\\$ \$*"; "\$@" 2>&1; echo "(exit \$?)"
		}
		run git clone -q $url widgets
		cd widgets
		echo "made inside a sandbox" >made-inside
		run git add made-inside
		run git commit -q -m "made inside a sandbox"
		run git push origin HEAD:$branch
		run git push origin HEAD:main
		run curl -sS --trace ../evidence/allowed.trace \\
			https://allowed.example$suffix/
		run curl -sS --trace ../evidence/blocked.trace \\
			https://blocked.example$suffix/
		cd ..
		for pid in /proc/[0-9]*; do
			for file in environ cmdline maps mountinfo status fd; do
				echo "\$pid/\$file"
				{ cat "\$pid/\$file" || ls -l "\$pid/\$file"; } 2>/dev/null
			done
		done >evidence/proc
		tar -cf evidence/files.tar --ignore-failed-read \\
			--exclude=./evidence/files.tar . /run /tmp /etc /dev/shm \\
			"\$HOME" /proc/sys/kernel /proc/net 2>/dev/null
		true
	END
}

main() {
	place=$(mktemp -d "${TMPDIR:-/tmp}/sallyport.XXXXXX")
	trap cleanup EXIT
	trap 'exit 130' INT TERM

	step "packages"
	"$source_dir/deploy/deps.sh" build
	step "build (the first takes some minutes)"
	build

	step "a git forge that wants a real token"
	"$source_dir/deploy/forge/forge" start "$place/forge" \
		--address "$address"
	"$source_dir/deploy/forge/forge" repo "$place/forge" acme/widgets
	port=$([ "$(id -u)" -eq 0 ] && echo 443 || echo 8443)
	suffix=$([ "$port" = 443 ] || echo ":$port")
	url=https://github.com$suffix/acme/widgets

	step "a gateway that has it"
	start_gateway
	"$sallyport" secret put forge-token <"$place/forge/token"
	"$sallyport" secret list

	step "a sandbox that has not"
	write_policy
	mkdir "$place/workspace"
	write_agent "$place/workspace"
	before=$(tip_of main)
	exec {to_output}> >(exec tee "$place/output")
	output_tee=$!
	exec {to_errors}> >(exec tee "$place/errors" >&2)
	errors_tee=$!
	"$sallyport" run --policy "$place/policy.yaml" --repo "$url" \
		--branch "$branch" --workspace "$place/workspace" \
		--events "$place/events" -- sh ./agent.sh \
		</dev/null >&"$to_output" 2>&"$to_errors" ||
		fail "the sandbox failed"
	# The copies of the output are whole once their writers have ended.
	exec {to_output}>&- {to_errors}>&-
	wait "$output_tee" "$errors_tee"

	step "what was allowed and what was denied"
	"$sallyport" audit tail -n 64 -o json >"$place/audit"
	python3 "$source_dir/deploy/forge/table.py" <"$place/audit"
	"$sallyport" audit verify
	verdict
}

tip_of() {
	git --git-dir "$place/forge/repos/acme/widgets.git" \
		rev-parse --verify -q "refs/heads/$1" || echo none
}

verdict() {
	step "what came of it"
	[ "$(tip_of "$branch")" != none ] || fail "$branch did not land"
	echo "$branch landed on the forge: $(tip_of "$branch")"
	[ "$(tip_of main)" = "$before" ] || fail "main was changed"
	echo "main is what it was:       $before"
	grep -q "push refused: push_ref_not_allowed" "$place/output" ||
		fail "git was not told why main was refused"
	grep -q "it is allowed" "$place/output" ||
		fail "the allowed host was not reached"
	grep -q host_not_allowed "$place/output" ||
		fail "the blocked host was not named"
	[ -s "$place/workspace/evidence/files.tar" ] &&
		[ -s "$place/workspace/evidence/git.trace" ] ||
		fail "there is no evidence to search"
	python3 "$source_dir/deploy/forge/find_token.py" "$place/forge/token" \
		"$place/workspace" "$place/output" "$place/errors" \
		"$place/events" "$place/audit" "$place/gateway.log" \
		"$place/state" || fail "THE TOKEN WAS FOUND"
	echo
	echo "the token was never inside"
}

main
