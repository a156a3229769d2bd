#include "cli/commands.h"

#include "common/cleanup.h"

const struct command commands[] = {
	{"run", NULL, cmd_run, "run one command in a sandbox",
	 "Usage: sallyport run [--policy FILE] [--repo URL --branch BRANCH]\n"
	 "                     [--workspace DIR] [-e NAME=VALUE]... "
	 "[--events FILE]\n"
	 "                     [--] COMMAND [ARGUMENT]...\n"
	 "\n"
	 "Run COMMAND in a sandbox whose only way out is the gateway. Uses "
	 "the gateway\n"
	 "that runs, or starts one for the command. Options end at the first "
	 "word that\n"
	 "is not one, or at --. Exits with the command's code (128+n for a "
	 "signal),\n"
	 "125 when the sandbox could not be made.\n"
	 "\n"
	 "  --policy FILE      what the command may do (default: no network,\n"
	 "                     the current directory writable)\n"
	 "  --repo URL         ${session.repo} of the policy\n"
	 "  --branch BRANCH    ${session.branch} of the policy\n"
	 "  --workspace DIR    instead of the policy's workspace path\n"
	 "  -e NAME=VALUE      set a variable inside\n"
	 "  --events FILE      write every decision as a JSON line\n"
	 "\n"
	 "Examples:\n"
	 "  sallyport run -- npm test\n"
	 "  sallyport run --policy agent.yaml --repo "
	 "https://github.com/acme/widgets \\\n"
	 "      --branch agent/42 -- git push origin HEAD\n"},
	{"session", "create", cmd_session_create, "create a session",
	 "Usage: sallyport session create --policy FILE [--repo URL] "
	 "[--branch BRANCH]\n"
	 "                                [--permission P]... [--ttl SECONDS] "
	 "[--proxy]\n"
	 "                                [--ca FILE]\n"
	 "\n"
	 "Create a session and print its id and lease. The lease is shown "
	 "once.\n"
	 "\n"
	 "  --permission P  what the lease is bounded by, on the repository "
	 "of\n"
	 "             --repo: push:BRANCH, pull:BRANCH, read:repo. The "
	 "session\n"
	 "             may do what both they and its policy say; without them\n"
	 "             the policy alone bounds it\n"
	 "  --proxy    clients outside a sandbox may use the gateway's proxy\n"
	 "             port (listen.proxy), with the lease as password\n"
	 "  --ca FILE  write the CA there, that such clients must trust\n"
	 "             (with --proxy and without this: to a new file in\n"
	 "             $XDG_RUNTIME_DIR or /tmp)\n"
	 "\n"
	 "Examples:\n"
	 "  sallyport session create --policy p.yaml \\\n"
	 "      --repo https://github.com/acme/widgets --branch agent/42 \\\n"
	 "      --permission push:agent/42 --permission read:repo\n"
	 "  sallyport session create --policy p.yaml --proxy\n"
	 "  curl -x http://127.0.0.1:3128 --proxy-user x:$LEASE \\\n"
	 "       --cacert $CA https://example.com/\n"},
	{"session", "list", cmd_session_list, "list the sessions",
	 "Usage: sallyport session list [-o json|yaml]\n"},
	{"session", "show", cmd_session_show, "show one session",
	 "Usage: sallyport session show ID [-o json|yaml]\n"},
	{"session", "renew", cmd_session_renew, "let a session last longer",
	 "Usage: sallyport session renew ID --ttl SECONDS [-o json|yaml]\n"
	 "\n"
	 "It ends SECONDS from now, instead of when it would have: at most "
	 "seven\n"
	 "days, and at most 30 days after it was created. A session that has\n"
	 "ended cannot be renewed.\n"},
	{"session", "revoke", cmd_session_revoke, "end a session everywhere",
	 "Usage: sallyport session revoke ID\n"
	 "\n"
	 "Returns when it holds everywhere: open connections are closed, a\n"
	 "push in flight is cut off, new requests are refused.\n"},
	{"policy", "check", cmd_policy_check, "find every error of a policy",
	 "Usage: sallyport policy check FILE\n"
	 "\n"
	 "Prints each error as file:line:col with the line and a caret. "
	 "Exits 3\n"
	 "when there is one. FILE may be - for stdin.\n"},
	{"policy", "test", cmd_policy_other, "what would be decided?",
	 "Usage: sallyport policy test --policy FILE [--repo URL] [--branch "
	 "BRANCH]\n"
	 "                             [--header 'NAME: VALUE']... [--body "
	 "FILE]\n"
	 "                             [--guardrail FILE] [--secret "
	 "FILE]...\n"
	 "                             METHOD URL\n"
	 "       sallyport policy test --policy FILE ... PUSH URL REF\n"
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
	 "\n"
	 "Example:\n"
	 "  sallyport policy test --policy agent.yaml GET "
	 "https://api.github.com/zen\n"},
	{"policy", "learn", cmd_policy_other, "rules from what was done",
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
	{"policy", "diff", cmd_policy_diff, "what differs between two?",
	 "Usage: sallyport policy diff OLD NEW [-o json|yaml]\n"
	 "\n"
	 "Says what was added, removed, changed or moved. Rules, credentials "
	 "and\n"
	 "repositories are the same when they are called the same. Exits 1 "
	 "when\n"
	 "something differs, 3 when one of them has errors.\n"},
	{"policy", "explain", cmd_policy_other, "a policy in words",
	 "Usage: sallyport policy explain [--policy FILE] [--repo URL] "
	 "[--branch BRANCH]\n"
	 "                                [--guardrail FILE]\n"
	 "\n"
	 "Says in words what a policy allows, asks a person about and "
	 "refuses: fit\n"
	 "for the prompt of an agent that works under it. Inside a sandbox\n"
	 "http://sallyport.internal/policy says the same. Without --policy: "
	 "the\n"
	 "policy of a `sallyport run` that names none; without --guardrail: "
	 "narrowed by\n"
	 "the guardrail of the gateway that runs.\n"},
	{"secret", "put", cmd_secret_put, "store a secret, read from stdin",
	 "Usage: sallyport secret put NAME < FILE\n"
	 "\n"
	 "The value comes from stdin, never from the command line. One "
	 "trailing\n"
	 "newline is dropped.\n"},
	{"secret", "list", cmd_secret_list,
	 "list secrets and where they come from, never a value",
	 "Usage: sallyport secret list [-o json|yaml]\n"},
	{"secret", "rotate", cmd_secret_rotate,
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
	{"secret", "rm", cmd_secret_rm, "forget a secret",
	 "Usage: sallyport secret rm NAME\n"},
	{"approval", "list", cmd_approval_list, "what waits for a person?",
	 "Usage: sallyport approval list [--session ID] [--state STATE] [-o "
	 "json|yaml]\n"
	 "\n"
	 "STATE is pending (without --state), approved, denied, used, "
	 "expired or\n"
	 "ended.\n"},
	{"approval", "approve", cmd_approval_approve, "allow what is asked for",
	 "Usage: sallyport approval approve ID [--once | --session | --until "
	 "TIME]\n"
	 "\n"
	 "Allow the request, and the same request again: by the same rule, "
	 "to the\n"
	 "same method, host, port and path, with the same credential.\n"
	 "\n"
	 "  --once         one request\n"
	 "  --session      until the session ends (the default)\n"
	 "  --until TIME   until then, as 2026-11-21T19:00:00Z\n"
	 "\n"
	 "Exits 6 when there is no such proposal, 7 when it was decided "
	 "before.\n"},
	{"approval", "deny", cmd_approval_deny, "refuse what is asked for",
	 "Usage: sallyport approval deny ID\n"
	 "\n"
	 "It stays refused until the session ends. Exits 6 when there is no "
	 "such\n"
	 "proposal, 7 when it was decided before.\n"},
	{"approval", "watch", cmd_approval_watch, "see what is asked for",
	 "Usage: sallyport approval watch [--session ID]\n"
	 "\n"
	 "Prints a JSON line for everything that is asked for or decided "
	 "from now\n"
	 "on; `approval` is its id.\n"},
	{"audit", "tail", cmd_audit_tail, "show the newest records",
	 "Usage: sallyport audit tail [-n COUNT] [--session ID] [--kind "
	 "KIND]\n"
	 "                            [--denied] [--follow] [-o json|yaml]\n"
	 "\n"
	 "COUNT is 1 to 10000, 20 without -n.\n"},
	{"audit", "verify", cmd_audit_verify, "recompute the hash chain",
	 "Usage: sallyport audit verify\n"
	 "\n"
	 "Exits 1 when a record was changed, removed or reordered.\n"},
	{"push", "list", cmd_push_list, "list the newest pushes",
	 "Usage: sallyport push list [-n COUNT] [--session ID] [-o json|yaml]\n"
	 "\n"
	 "COUNT is 1 to 10000, 20 without -n.\n"},
	{"status", NULL, cmd_status, "is the gateway well?",
	 "Usage: sallyport status [-o json|yaml]\n"},
	{"doctor", NULL, cmd_doctor, "what does this host lack?",
	 "Usage: sallyport doctor [-o json|yaml]\n"
	 "\n"
	 "Checks what sandboxes and gateway need of the kernel and says how "
	 "to\n"
	 "mend what is missing. Exits 1 when something that is needed "
	 "lacks.\n"},
	{"completion", NULL, cmd_completion, "completions for a shell",
	 "Usage: sallyport completion bash|zsh|fish\n"
	 "\n"
	 "Examples:\n"
	 "  . <(sallyport completion bash)\n"
	 "  sallyport completion zsh > \"${fpath[1]}/_sallyport\"\n"
	 "  sallyport completion fish > "
	 "~/.config/fish/completions/sallyport.fish\n"},
};
const size_t command_count = ARRAY_SIZE(commands);
