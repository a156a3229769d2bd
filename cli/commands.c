#include "cli/commands.h"

#include "common/cleanup.h"

const struct command commands[] = {
	{"run", NULL, OUTPUT_COMMANDS, cmd_run, "run one command in a sandbox",
	 cmd_run_help},
	{"sandbox", "create", OUTPUT_VALUE, cmd_sandbox_create,
	 "make a sandbox that stays", cmd_sandbox_create_help},
	{"sandbox", "list", OUTPUT_VALUE, cmd_sandbox_list,
	 "list the sandboxes",
	 "Usage: sallyport sandbox list [--state STATE]... [-o json|yaml]\n"
	 "\n"
	 "STATE is Pending, Running, Pausing, Paused, Resuming, Stopping, "
	 "Terminated\n"
	 "or Failed. What has ended is shown for ten minutes.\n"},
	{"sandbox", "show", OUTPUT_VALUE, cmd_sandbox_show, "show one sandbox",
	 "Usage: sallyport sandbox show ID [-o json|yaml]\n"
	 "\n"
	 "Exits 6 when there is no such sandbox.\n"},
	{"sandbox", "exec", OUTPUT_COMMANDS, cmd_sandbox_exec,
	 "run a command in a sandbox",
	 "Usage: sallyport sandbox exec [-i] [-t] [-e NAME=VALUE]... [-w DIR]\n"
	 "                              [--timeout TIME] [--detach]\n"
	 "                              ID [--] COMMAND [ARGUMENT]...\n"
	 "\n"
	 "Run COMMAND in a sandbox that runs, and exit with its code (128+n "
	 "for a\n"
	 "signal, 127 not found, 125 when the sandbox ended). Signals reach "
	 "it. It ends\n"
	 "when this ends.\n"
	 "\n"
	 "  -i                 it reads our standard input\n"
	 "  -t                 it gets a terminal of its own\n"
	 "  -e NAME=VALUE      set a variable for it\n"
	 "  -w, --workdir DIR  where it starts, inside (default: the "
	 "workspace)\n"
	 "  --timeout TIME     it is killed then: seconds, or like 10m, 2h\n"
	 "  -d, --detach       return at once; it goes on, and its output is "
	 "lost\n"
	 "\n"
	 "Exits 6 when there is no such sandbox, 7 when it does not run.\n"
	 "\n"
	 "Examples:\n"
	 "  sallyport sandbox exec sb-7q3k -- npm test\n"
	 "  sallyport sandbox exec -it sb-7q3k bash\n"},
	{"sandbox", "cp", OUTPUT_TEXT, cmd_sandbox_cp,
	 "copy files into a sandbox, and out",
	 "Usage: sallyport sandbox cp SOURCE TARGET\n"
	 "\n"
	 "Copy a file, or a directory with all below it. One of the two is "
	 "ID:PATH, of\n"
	 "a sandbox that runs: absolute, or below its workspace. A TARGET that "
	 "is a\n"
	 "directory gets SOURCE with its own name; SOURCE/. is what is in "
	 "SOURCE.\n"
	 "What the sandbox's commands may not read or write can not be copied "
	 "either.\n"
	 "Out of a sandbox no link is made that leads out of what is copied; "
	 "what is\n"
	 "left out is told, and the exit code is 1.\n"
	 "\n"
	 "Exits 5 when the policy forbids it, 6 when there is no such sandbox "
	 "or file in\n"
	 "it, 7 when it does not run.\n"
	 "\n"
	 "Examples:\n"
	 "  sallyport sandbox cp package.json sb-7q3k:app/\n"
	 "  sallyport sandbox cp sb-7q3k:/tmp/report ./report\n"},
	{"sandbox", "logs", OUTPUT_TEXT, cmd_sandbox_logs,
	 "what its command wrote",
	 "Usage: sallyport sandbox logs ID [--follow]\n"
	 "\n"
	 "Of the command that it was created with. The last MiB is kept.\n"},
	{"sandbox", "events", OUTPUT_VALUE, cmd_sandbox_events,
	 "what happened to it",
	 "Usage: sallyport sandbox events ID [--follow] [-o json|yaml]\n"
	 "\n"
	 "Its states, and what was denied: inside (files, system calls, "
	 "limits) and by\n"
	 "the gateway; the last 256. All of it is on record: `sallyport "
	 "audit tail\n"
	 "--session`.\n"},
	{"sandbox", "pause", OUTPUT_VALUE, cmd_sandbox_pause,
	 "let everything in it rest",
	 "Usage: sallyport sandbox pause ID [-o json|yaml]\n"
	 "\n"
	 "Its processes stop where they are; policy, lease and time go on. "
	 "Exits 7\n"
	 "when it does not run, 1 when this host has no freezer for it.\n"},
	{"sandbox", "resume", OUTPUT_VALUE, cmd_sandbox_resume, "let it go on",
	 "Usage: sallyport sandbox resume ID [-o json|yaml]\n"
	 "\n"
	 "Exits 7 when it does not rest.\n"},
	{"sandbox", "renew", OUTPUT_VALUE, cmd_sandbox_renew,
	 "let it last longer",
	 "Usage: sallyport sandbox renew ID --timeout TIME [-o json|yaml]\n"
	 "\n"
	 "It ends TIME (seconds, or like 10m, 2h) from now, instead of when it "
	 "would\n"
	 "have; 0: only when it is ended. Exits 7 when it has ended.\n"},
	{"sandbox", "port", OUTPUT_VALUE, cmd_sandbox_port,
	 "reach a port inside",
	 "Usage: sallyport sandbox port ID PORT [-o json|yaml]\n"
	 "\n"
	 "Print an address of this host's loopback. Who connects there "
	 "reaches PORT of\n"
	 "the sandbox's own, until the sandbox ends: every user of this host "
	 "can.\n"
	 "\n"
	 "Example:\n"
	 "  curl http://$(sallyport sandbox port sb-7q3k 8000)/\n"},
	{"sandbox", "kill", OUTPUT_VALUE, cmd_sandbox_kill, "end a sandbox",
	 "Usage: sallyport sandbox kill ID [-o json|yaml]\n"
	 "\n"
	 "Returns when everything in it has ended and what was made for it "
	 "is gone.\n"
	 "Exits 6 when there is no such sandbox, 7 when it has ended "
	 "already.\n"},
	{"sandbox", "snapshot", OUTPUT_VALUE, cmd_sandbox_snapshot,
	 "keep what it wrote, to begin others with",
	 "Usage: sallyport sandbox snapshot ID [--name NAME] [-o json|yaml]\n"
	 "\n"
	 "Copies what the sandbox wrote over its image, its own workspace, or "
	 "the changes\n"
	 "of an overlay workspace, while it rests for the moment, and prints "
	 "the\n"
	 "snapshot's id. Processes and memory are not in it.\n"
	 "\n"
	 "Example:\n"
	 "  sallyport sandbox create --workspace - --snapshot $(sallyport "
	 "sandbox snapshot sb-7q3k)\n"},
	{"sandbox", "diff", OUTPUT_VALUE, cmd_sandbox_diff,
	 "what did an overlay workspace change?",
	 "Usage: sallyport sandbox diff [ID] [-o json|yaml]\n"
	 "\n"
	 "What was added, changed and deleted by a command that ran with\n"
	 "workspace: {mode: overlay}, with a unified diff of texts. ID is what "
	 "`run`\n"
	 "said when it ended. Without ID: which changes are kept.\n"},
	{"sandbox", "commit", OUTPUT_VALUE, cmd_sandbox_commit,
	 "write such changes into the workspace",
	 "Usage: sallyport sandbox commit ID [PATH]... [--force] [-o "
	 "json|yaml]\n"
	 "\n"
	 "Write what was changed into the workspace: all of it, or PATH "
	 "(below the\n"
	 "workspace) and what is below it. Protected names, git's hooks and "
	 "settings,\n"
	 "new repositories, pipes and sockets are refused. Changes that are "
	 "in the\n"
	 "workspace are no longer kept.\n"
	 "\n"
	 "  --force  over what changed in the workspace since the command "
	 "started\n"
	 "\n"
	 "Exits 5 when something was refused, 6 when there are no such "
	 "changes, 7 when\n"
	 "the workspace changed meanwhile (nothing is written then) or the "
	 "changes are in\n"
	 "use.\n"
	 "\n"
	 "Example:\n"
	 "  sallyport sandbox commit s-7q3k src\n"},
	{"sandbox", "discard", OUTPUT_TEXT, cmd_sandbox_discard,
	 "throw such changes away",
	 "Usage: sallyport sandbox discard ID\n"
	 "\n"
	 "Exits 6 when there are no such changes, 7 when they are in use.\n"},
	{"snapshot", "list", OUTPUT_VALUE, cmd_snapshot_list,
	 "list the snapshots",
	 "Usage: sallyport snapshot list [-o json|yaml]\n"},
	{"snapshot", "rm", OUTPUT_TEXT, cmd_snapshot_rm, "remove a snapshot",
	 "Usage: sallyport snapshot rm ID\n"
	 "\n"
	 "Sandboxes that began with it go on. Exits 6 when there is none.\n"},
	{"image", "list", OUTPUT_VALUE, cmd_image_list,
	 "list the images of host.yaml",
	 "Usage: sallyport image list [-o json|yaml]\n"},
	{"image", "pull", OUTPUT_VALUE, cmd_image_pull,
	 "unpack an image into the store",
	 "Usage: sallyport image pull NAME [-o json|yaml]\n"
	 "\n"
	 "Unpacks a tar, or pulls an OCI image with skopeo and umoci, and "
	 "prints its\n"
	 "digest. A digest in host.yaml is held against it first. Exits 7 "
	 "while sandboxes\n"
	 "have the image.\n"},
	{"image", "rm", OUTPUT_TEXT, cmd_image_rm,
	 "remove an image from the store", "Usage: sallyport image rm NAME\n"},
	{"srt", NULL, OUTPUT_COMMANDS, cmd_srt,
	 "run a command as sandbox-runtime does",
	 "Usage: sallyport srt [-d] [-s FILE] -c STRING\n"
	 "       sallyport srt [-d] [-s FILE] [--] COMMAND [ARGUMENT]...\n"
	 "\n"
	 "Run a command under settings of sandbox-runtime (npm "
	 "@anthropic-ai/sandbox-runtime),\n"
	 "with their meaning there; what is stricter here is told on stderr. "
	 "Options end at\n"
	 "the first word that is not one.\n"
	 "\n"
	 "  -s, --settings FILE  instead of ~/.srt-settings.json; without "
	 "either: no\n"
	 "                       network, nothing is written\n"
	 "  -c STRING            a line for bash\n"
	 "  -d, --debug          show the policy that the settings become\n"
	 "  --control-fd FD      read settings there while the command runs, "
	 "one JSON object\n"
	 "                       a line: of each its lists of domains hold "
	 "from then on\n"
	 "\n"
	 "Example:\n"
	 "  sallyport srt -s settings.json npm test\n"},
	{"config", "check", OUTPUT_VALUE, cmd_config_check,
	 "check a configuration",
	 "Usage: sallyport config check [--settings|--gateway|--host] FILE\n"
	 "                              [-o json|yaml]\n"
	 "\n"
	 "Checks gateway.yaml or host.yaml, by the daemon's own -t: every "
	 "error with its\n"
	 "place. Or settings of sandbox-runtime (JSON): says what is stricter "
	 "here, and\n"
	 "prints the policy that they become. Exits 3 when something is "
	 "wrong. Policies\n"
	 "are checked by `policy check`.\n"
	 "\n"
	 "Without an option a file that begins with { is settings, any other, "
	 "and what\n"
	 "comes through a pipe, is gateway.yaml.\n"
	 "\n"
	 "Examples:\n"
	 "  sallyport config check /etc/sallyport/gateway.yaml\n"
	 "  sallyport config check --host /etc/sallyport/host.yaml\n"},
	{"config", "dump", OUTPUT_VALUE, cmd_config_dump,
	 "the configuration that holds",
	 "Usage: sallyport config dump [--host] [-o json|yaml]\n"
	 "\n"
	 "Prints the configuration that the gateway runs with, as a "
	 "gateway.yaml, and behind\n"
	 "each value where it comes from. With --host that of sallyport-host, "
	 "as a host.yaml.\n"
	 "What could be a secret is not in it.\n"
	 "What a file would become is shown by `sallyport-gateway --dump -c "
	 "FILE` and\n"
	 "`sallyport-host --dump -c FILE`.\n"},
	{"config", "reload", OUTPUT_VALUE, cmd_config_reload,
	 "read gateway.yaml or host.yaml again",
	 "Usage: sallyport config reload [--host] [-o json|yaml]\n"
	 "\n"
	 "Has the gateway, or with --host sallyport-host, read its file "
	 "again, as SIGHUP\n"
	 "does. All of it holds then, and what differed is printed; or, when "
	 "something is\n"
	 "wrong or needs a restart, nothing changes, and that is printed "
	 "(exit code 3).\n"},
	{"session", "create", OUTPUT_VALUE, cmd_session_create,
	 "create a session",
	 "Usage: sallyport session create --policy FILE [--repo URL] "
	 "[--branch BRANCH]\n"
	 "                                [--permission P]... [--ttl TIME] "
	 "[--proxy]\n"
	 "                                [--ca FILE] [-o json|yaml]\n"
	 "\n"
	 "Create a session and print its id and lease. The lease is shown "
	 "once.\n"
	 "Where its policy has commits signed: by whom, as a line of git's\n"
	 "allowed signers.\n"
	 "\n"
	 "  --permission P  what the lease is bounded by, on the repository "
	 "of\n"
	 "             --repo: push:BRANCH, pull:BRANCH, read:repo. The "
	 "session\n"
	 "             may do what both they and its policy say; without them\n"
	 "             the policy alone bounds it\n"
	 "  --ttl TIME it ends then: seconds, or like 90m, 2d (default: 2h,\n"
	 "             at most 7d)\n"
	 "  --proxy    clients outside a sandbox may use the gateway's proxy\n"
	 "             port (listen.proxy), with the lease as password\n"
	 "  --ca FILE  write the CA there, that such clients must trust\n"
	 "             (with --proxy and without this: to a new file in\n"
	 "             $XDG_RUNTIME_DIR or /tmp, which `session revoke` "
	 "removes)\n"
	 "\n"
	 "Examples:\n"
	 "  sallyport session create --policy p.yaml \\\n"
	 "      --repo https://github.com/acme/widgets --branch agent/42 \\\n"
	 "      --permission push:agent/42 --permission read:repo\n"
	 "  sallyport session create --policy p.yaml --proxy\n"
	 "  curl -x http://127.0.0.1:3128 --proxy-user x:$LEASE \\\n"
	 "       --cacert $CA https://example.com/\n"},
	{"session", "list", OUTPUT_VALUE, cmd_session_list, "list the sessions",
	 "Usage: sallyport session list [-o json|yaml]\n"
	 "\n"
	 "Sandboxes that sallyport-host keeps ready for whoever asks next have "
	 "sessions\n"
	 "of their own, which are among them. What has ended is shown for five "
	 "minutes\n"
	 "more.\n"},
	{"session", "show", OUTPUT_VALUE, cmd_session_show, "show one session",
	 "Usage: sallyport session show ID [-o json|yaml]\n"},
	{"session", "renew", OUTPUT_VALUE, cmd_session_renew,
	 "let a session last longer",
	 "Usage: sallyport session renew ID --ttl TIME [-o json|yaml]\n"
	 "\n"
	 "It ends TIME (seconds, or like 90m, 2d) from now, instead of when "
	 "it would\n"
	 "have: at most seven days, and at most 30 days after it was "
	 "created. A\n"
	 "session that has ended cannot be renewed.\n"},
	{"session", "policy", OUTPUT_VALUE, cmd_session_policy,
	 "show or replace a session's policy",
	 "Usage: sallyport session policy ID [-o json|yaml]\n"
	 "       sallyport session policy ID FILE [--expect HASH] [-o "
	 "json|yaml]\n"
	 "\n"
	 "With FILE (- for stdin) that policy holds from now on: for the next\n"
	 "request, and for what is under way. Connections to hosts that it "
	 "does\n"
	 "not allow are closed. What stands in the sandbox (filesystem,\n"
	 "environment, limits, commands, who signs) must be as it was.\n"
	 "\n"
	 "  --expect HASH  only if the policy that holds now has this hash\n"},
	{"session", "revoke", OUTPUT_TEXT, cmd_session_revoke,
	 "end a session everywhere",
	 "Usage: sallyport session revoke ID\n"
	 "\n"
	 "Returns when it holds everywhere: open connections are closed, a\n"
	 "push in flight is cut off, new requests are refused. The file that\n"
	 "`session create --proxy` made for the CA is removed; one that --ca\n"
	 "named stays.\n"},
	{"policy", "check", OUTPUT_VALUE, cmd_policy_check,
	 "find every error of a policy",
	 "Usage: sallyport policy check FILE... [-o json|yaml]\n"
	 "\n"
	 "Prints each error as file:line:col with the line and a caret. "
	 "Exits 3\n"
	 "when there is one. FILE may be - for stdin.\n"},
	{"policy", "test", OUTPUT_VALUE, cmd_policy_other,
	 "what would be decided?",
	 "Usage: sallyport policy test --policy FILE [--repo URL] [--branch "
	 "BRANCH]\n"
	 "                             [--header 'NAME: VALUE']... [--body "
	 "FILE]\n"
	 "                             [--guardrail FILE] [--secret "
	 "FILE]...\n"
	 "                             [-o json|yaml] METHOD URL\n"
	 "       sallyport policy test --policy FILE ... PUSH URL REF\n"
	 "       sallyport policy test --policy FILE --command LINE\n"
	 "\n"
	 "Prints verdict, rule and trace. Exits 10 when it would be denied, "
	 "or a\n"
	 "person asked. FILE may be - for stdin.\n"
	 "\n"
	 "  --guardrail FILE  narrow by that, instead of by the guardrail of "
	 "the gateway\n"
	 "                    that runs\n"
	 "  --secret FILE     also look for what is in it where a rule says "
	 "`secrets: deny`\n"
	 "  --command LINE    a command line, judged by `commands` of the "
	 "policy\n"
	 "\n"
	 "Examples:\n"
	 "  sallyport policy test --policy agent.yaml GET "
	 "https://api.github.com/zen\n"
	 "  sallyport policy test --policy agent.yaml GET "
	 "wss://live.example/feed\n"
	 "  sallyport policy test --policy agent.yaml --command 'git push "
	 "--force'\n"},
	{"policy", "learn", OUTPUT_FILE, cmd_policy_other,
	 "rules from what was done",
	 "Usage: sallyport policy learn SESSION [--policy FILE] [--denied] [-o "
	 "FILE]\n"
	 "\n"
	 "Print the narrowest policy under which what is on record of SESSION "
	 "would\n"
	 "pass: its hosts, ports, methods, paths, branches, and nothing else. "
	 "Where more\n"
	 "than 8 paths differ in one segment alone, that becomes a *, and a "
	 "comment says\n"
	 "so. Read it before you use it: who was inside could choose what is "
	 "in it.\n"
	 "\n"
	 "  --policy FILE  the policy that the session ran with: its "
	 "credentials, what its\n"
	 "                 rules ask for and deny, addresses, files and limits "
	 "are kept\n"
	 "  --denied       also what was refused because no rule allowed it\n"
	 "  -o FILE        write it there\n"
	 "\n"
	 "What was tunnelled is on record as a connection: run the session "
	 "with\n"
	 "tls: {inspect: always} to learn its requests. Exits 6 when nothing "
	 "is on\n"
	 "record.\n"
	 "\n"
	 "Example:\n"
	 "  sallyport policy learn s-7q3k --policy wide.yaml -o narrow.yaml\n"},
	{"policy", "diff", OUTPUT_VALUE, cmd_policy_diff,
	 "what differs between two?",
	 "Usage: sallyport policy diff OLD NEW [-o json|yaml]\n"
	 "\n"
	 "Says what was added, removed, changed or moved. Rules, credentials "
	 "and\n"
	 "repositories are the same when they are called the same. Exits 1 "
	 "when\n"
	 "something differs, 3 when one of them has errors.\n"},
	{"policy", "explain", OUTPUT_VALUE, cmd_policy_other,
	 "a policy in words",
	 "Usage: sallyport policy explain [--policy FILE] [--repo URL] "
	 "[--branch BRANCH]\n"
	 "                                [--guardrail FILE] [-o json|yaml]\n"
	 "\n"
	 "Says in words what a policy allows, asks a person about and "
	 "refuses: fit\n"
	 "for the prompt of an agent that works under it. Inside a sandbox\n"
	 "http://sallyport.internal/policy says the same. Without --policy: "
	 "the\n"
	 "policy of a `sallyport run` that names none; without --guardrail: "
	 "narrowed by\n"
	 "the guardrail of the gateway that runs.\n"},
	{"policy", "show", OUTPUT_VALUE, cmd_policy_other,
	 "a policy with its presets' rules",
	 "Usage: sallyport policy show FILE [-o json|yaml]\n"
	 "\n"
	 "Prints a policy that means the same without `extends`: its own keys, "
	 "and\n"
	 "behind its own rules those of the presets, as PRESET.NAME, in the "
	 "order in\n"
	 "which they are tried. FILE may be - for stdin. Exits 3 when it has "
	 "errors.\n"},
	{"secret", "put", OUTPUT_TEXT, cmd_secret_put,
	 "store a secret, read from stdin",
	 "Usage: sallyport secret put NAME < FILE\n"
	 "\n"
	 "The value comes from stdin, never from the command line. One "
	 "trailing\n"
	 "newline is dropped. What is typed at a terminal is not shown.\n"},
	{"secret", "list", OUTPUT_VALUE, cmd_secret_list,
	 "list secrets and where they come from, never a value",
	 "Usage: sallyport secret list [-o json|yaml]\n"},
	{"secret", "rotate", OUTPUT_TEXT, cmd_secret_rotate,
	 "give a secret, or the vault, another",
	 "Usage: sallyport secret rotate NAME < FILE\n"
	 "       sallyport secret rotate --key\n"
	 "\n"
	 "Give a secret that is there another value, read from stdin. "
	 "Requests under\n"
	 "way finish with the old one; those that begin once this has "
	 "returned have the\n"
	 "new one. Exits 6 when there is no such secret.\n"
	 "\n"
	 "  --key  make another key for the vault and seal every secret anew; "
	 "the\n"
	 "         gateway serves meanwhile\n"
	 "\n"
	 "Examples:\n"
	 "  sallyport secret rotate github < new-token.txt\n"
	 "  sallyport secret rotate --key\n"},
	{"secret", "rm", OUTPUT_TEXT, cmd_secret_rm, "forget a secret",
	 "Usage: sallyport secret rm NAME\n"},
	{"approval", "list", OUTPUT_VALUE, cmd_approval_list,
	 "what waits for a person?",
	 "Usage: sallyport approval list [--session ID] [--state STATE] [-o "
	 "json|yaml]\n"
	 "\n"
	 "STATE is pending (without --state), approved, denied, used, "
	 "expired or\n"
	 "ended.\n"},
	{"approval", "approve", OUTPUT_VALUE, cmd_approval_approve,
	 "allow what is asked for",
	 "Usage: sallyport approval approve ID [--once | --session | --until "
	 "TIME]\n"
	 "                                  [-o json|yaml]\n"
	 "\n"
	 "Allow the request, and the same request again: by the same rule, "
	 "to the\n"
	 "same method, host, port and path, with the same credential.\n"
	 "\n"
	 "  --once         one request\n"
	 "  --session      until the session ends (the default)\n"
	 "  --until TIME   for so long, as 10m or 2h, or until\n"
	 "                 2026-11-21T19:00:00Z\n"
	 "\n"
	 "Exits 6 when there is no such proposal, 7 when it was decided "
	 "before.\n"},
	{"approval", "deny", OUTPUT_VALUE, cmd_approval_deny,
	 "refuse what is asked for",
	 "Usage: sallyport approval deny ID [-o json|yaml]\n"
	 "\n"
	 "It stays refused until the session ends. Exits 6 when there is no "
	 "such\n"
	 "proposal, 7 when it was decided before.\n"},
	{"approval", "watch", OUTPUT_VALUE, cmd_approval_watch,
	 "see what is asked for",
	 "Usage: sallyport approval watch [--session ID] [-o json|yaml]\n"
	 "\n"
	 "Prints a JSON line for everything that is asked for or decided "
	 "from now\n"
	 "on; `approval` is its id.\n"},
	{"audit", "tail", OUTPUT_VALUE, cmd_audit_tail,
	 "show the newest records",
	 "Usage: sallyport audit tail [-n COUNT] [--session ID] [--kind "
	 "KIND]\n"
	 "                            [--denied] [--follow] [-o json|yaml]\n"
	 "\n"
	 "COUNT is 1 to 10000, 20 without -n. A request that ended at once has "
	 "one row,\n"
	 "with `ended`: --kind request and --kind response both show it.\n"},
	{"audit", "search", OUTPUT_VALUE, cmd_audit_search,
	 "find records by what they say",
	 "Usage: sallyport audit search TEXT [--session ID] [--kind KIND] "
	 "[--denied]\n"
	 "                              [-o json|yaml]\n"
	 "\n"
	 "All records in which TEXT stands, in any field and whatever its "
	 "case, the\n"
	 "oldest first. Exits 6 when there is none.\n"
	 "\n"
	 "Example: sallyport audit search github.com --denied\n"},
	{"audit", "export", OUTPUT_VALUE, cmd_audit_export,
	 "write the records as they are",
	 "Usage: sallyport audit export [--session ID] [--kind KIND] "
	 "[--denied]\n"
	 "                              [-o json|yaml]\n"
	 "\n"
	 "One JSON object a line, the oldest first; all of them without an "
	 "option, so\n"
	 "that each line's `prev` is the `hash` of the line before.\n"
	 "\n"
	 "Example: sallyport audit export > audit.jsonl\n"},
	{"audit", "verify", OUTPUT_VALUE, cmd_audit_verify,
	 "recompute the hash chain",
	 "Usage: sallyport audit verify [-o json|yaml]\n"
	 "\n"
	 "Exits 1 when a record was changed, removed or reordered, and while "
	 "none can be\n"
	 "stored (a full disk, say).\n"},
	{"push", "list", OUTPUT_VALUE, cmd_push_list, "list the newest pushes",
	 "Usage: sallyport push list [-n COUNT] [--session ID] [-o json|yaml]\n"
	 "\n"
	 "COUNT is 1 to 10000, 20 without -n.\n"},
	{"status", NULL, OUTPUT_VALUE, cmd_status, "is the gateway well?",
	 "Usage: sallyport status [-o json|yaml]\n"
	 "\n"
	 "Sandboxes that sallyport-host keeps ready for whoever asks next have "
	 "sessions\n"
	 "of their own, which count. What has ended is known for five minutes "
	 "more.\n"
	 "\n"
	 "Exits 1 when no record can be stored, and says why: what must be on "
	 "record\n"
	 "first is refused then.\n"},
	{"doctor", NULL, OUTPUT_VALUE, cmd_doctor, "what does this host lack?",
	 "Usage: sallyport doctor [-o json|yaml]\n"
	 "\n"
	 "Checks what sandboxes and gateway need of the kernel and says how "
	 "to\n"
	 "mend what is missing. Exits 1 when something that is needed "
	 "lacks.\n"},
	{"mcp", NULL, OUTPUT_TEXT, cmd_mcp, "tools for an agent, over MCP",
	 cmd_mcp_help},
	{"completion", NULL, OUTPUT_TEXT, cmd_completion,
	 "completions for a shell",
	 "Usage: sallyport completion bash|zsh|fish\n"
	 "\n"
	 "Examples:\n"
	 "  . <(sallyport completion bash)\n"
	 "  sallyport completion zsh > \"${fpath[1]}/_sallyport\"\n"
	 "  sallyport completion fish > "
	 "~/.config/fish/completions/sallyport.fish\n"},
};
const size_t command_count = ARRAY_SIZE(commands);
