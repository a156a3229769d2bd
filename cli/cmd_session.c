#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"
#include "policies/permissions.h"
#include "policies/policy.h"
#include "sandbox-host/session/gateway.h"

#define PATH_BYTES 256

/* What a session is created with. */
struct wanted {
	struct session_request request;
	const char *policy;
	const char *ca; /* file for the CA, or NULL */
	const char *permissions[PERMISSIONS_MAX + 1];
	size_t permission_count;
};

static int add_permission(struct wanted *wanted, const char *permission)
{
	if (wanted->permission_count == PERMISSIONS_MAX)
		return -1;
	wanted->permissions[wanted->permission_count++] = permission;
	wanted->request.permissions = wanted->permissions;
	return 0;
}

/* As control has it. */
static const struct time_range ttl_range = {1, 7 * 24 * 60 * 60};

static int parse(struct cli *cli, struct wanted *wanted)
{
	struct session_request *request = &wanted->request;
	static const struct option table[] = {
		{"policy", required_argument, NULL, 'p'},
		{"repo", required_argument, NULL, 'r'},
		{"branch", required_argument, NULL, 'b'},
		{"ttl", required_argument, NULL, 't'},
		{"proxy", no_argument, NULL, 'x'},
		{"ca", required_argument, NULL, 'c'},
		{"permission", required_argument, NULL, 'm'},
		{NULL, 0, NULL, 0},
	};
	int option, result = 0;
	uint64_t ttl;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option == 'p')
			wanted->policy = optarg;
		else if (option == 'r')
			request->repo = optarg;
		else if (option == 'b')
			request->branch = optarg;
		else if (option == 'c')
			wanted->ca = optarg;
		else if (option == 'x')
			request->has_proxy = true;
		else if (option == 'm')
			result |= add_permission(wanted, optarg);
		else if (option == 't' &&
			 arguments_seconds("--ttl", ttl_range, &ttl) == 0)
			request->ttl_s = (unsigned)ttl;
		else
			return -1;
	}
	if (!wanted->policy)
		return cli_wrong(cli, "--policy FILE is missing");
	return arguments_count(cli, 0, 0) < 0 ? -1 : result;
}

/* Compiled here as well: its errors are told whole. */
static int read_policy(const char *path, struct session_request *request,
		       struct buf *text)
{
	const struct policy_variables variables = {
		.session_id = bytes_str("s-new"),
		.branch = bytes_str(request->branch),
		.repo = bytes_str(request->repo),
	};
	struct policy *policy = policy_file_read(path, &variables, text);

	request->policy = buf_view(text);
	if (!policy)
		return -1;
	policy_free(policy);
	return 0;
}

/* Where the CA goes when --ca does not say. */
static const char *name_ca(const char *id, char path[PATH_BYTES])
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	int len = snprintf(path, PATH_BYTES, "%s/sallyport-%s-ca.pem",
			   dir && dir[0] == '/' ? dir : "/tmp", id);

	return len < PATH_BYTES ? path : NULL;
}

/* A client outside has to trust it: nobody sets it up as in a sandbox. */
static int save_ca(json_t *created, const char *path, struct err *err)
{
	struct bytes pem = bytes_str(json_text(created, "ca_pem"));
	char room[PATH_BYTES];
	auto_fd int fd = -1;

	if (!path)
		path = name_ca(json_text(created, "id"), room);
	if (!path)
		return err_set(err, ERR_TOO_LARGE, "save CA: the path is long");
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  0644);
	if (fd < 0 && errno == EEXIST)
		return err_set(err, ERR_SYSTEM,
			       "write %s: it is there already, and nothing is "
			       "written over: remove it, or name another file "
			       "with --ca",
			       path);
	if (fd < 0)
		return err_system(err, "write %s", path);
	if (write(fd, pem.data, pem.len) != (ssize_t)pem.len) {
		(void)unlink(path);
		return err_set(err, ERR_SYSTEM, "%s can not be written whole",
			       path);
	}
	(void)json_object_set_new(created, "ca_path", json_string(path));
	return 0;
}

/* The file that --proxy made without --ca. Others may make one of that name in
 * /tmp: theirs is left alone. */
static void drop_ca(const char *id)
{
	char path[PATH_BYTES];
	struct stat st;

	if (name_ca(id, path) && lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid())
		(void)unlink(path);
}

/* A session whose CA its client can not have is nobody's: it would last, and
 * its id was told to no one. */
static int give_ca(struct client *client, json_t *created, const char *path,
		   struct err *err)
{
	struct err other;

	if (save_ca(created, path, err) == 0)
		return 0;
	if (gateway_end(client, json_text(created, "id"), "revoked", &other) <
	    0)
		(void)err_prefix(err, "session %s lasts on: %s",
				 json_text(created, "id"), other.text);
	return -1;
}

/* Who signs, as a line of an allowed_signers file. */
static void print_signing(const json_t *session)
{
	const json_t *signing = json_object_get(session, "signing");
	const char *key = json_text(signing, "public_key");

	if (!json_is_object(signing))
		return;
	(void)printf("author   %s <%s>\n", json_text(signing, "name"),
		     json_text(signing, "email"));
	if (key[0])
		(void)printf("signs    %s namespaces=\"git\" %s\n",
			     json_text(signing, "email"), key);
	else
		(void)printf("signs    no key: %s\n",
			     json_text(signing, "why"));
}

static void print_permissions(const json_t *session)
{
	json_t *permission;
	size_t index;

	json_array_foreach(json_object_get(session, "permissions"), index,
			   permission)(void)
		printf("may      %s\n", json_string_value(permission));
}

static void created_table(const json_t *value)
{
	json_t *placeholders = json_object_get(value, "placeholders");
	const char *name;
	json_t *text;

	(void)printf("session  %s\n", json_text(value, "id"));
	(void)printf("lease    %s\n", json_text(value, "lease"));
	print_permissions(value);
	(void)printf("expires  %s\n", json_text(value, "expires"));
	if (json_text(value, "proxy")[0])
		(void)printf("proxy    http://%s\n", json_text(value, "proxy"));
	if (json_text(value, "ca_path")[0])
		(void)printf("ca       %s\n", json_text(value, "ca_path"));
	json_object_foreach(placeholders, name, text)
	{
		(void)printf("set      %s=%s\n", name, json_string_value(text));
	}
	print_signing(value);
}

/* Such a lease is good for nothing in git; nothing else would say so. */
static void tell_permits_nothing(const struct wanted *wanted,
				 const json_t *created)
{
	if (wanted->permission_count > 0 &&
	    json_array_size(json_object_get(created, "permissions")) == 0)
		(void)fputs("sallyport: the policy allows nothing of what "
			    "--permission names: this lease opens no "
			    "repository\n",
			    stderr);
}

int cmd_session_create(struct cli *cli)
{
	struct wanted wanted = {0};
	auto_type(buf_release) struct buf text;
	auto_type(reply_release) struct reply reply = {0};
	struct client client;
	struct err err;
	int result;

	buf_init(&text, POLICY_TEXT_MAX + 1);
	if (parse(cli, &wanted) < 0)
		return cli_usage(cli);
	if (read_policy(wanted.policy, &wanted.request, &text) < 0)
		return EXIT_INVALID;
	if (control_open(&client, &err) < 0)
		return cli_fail_err(&err);
	result = gateway_ask_create(&client, &wanted.request, &err);
	if (result == 0)
		result = gateway_take_created(&client, &reply, &err);
	if (result == 0 && (wanted.ca || wanted.request.has_proxy))
		result = give_ca(&client, reply.json, wanted.ca, &err);
	client_close(&client);
	if (result < 0)
		return cli_fail_err(&err);
	tell_permits_nothing(&wanted, reply.json);
	return cli_print(cli, reply.json, created_table);
}

static void session_row(const json_t *row)
{
	bool revoked = json_is_true(json_object_get(row, "revoked"));

	(void)printf("%-28s %-8s %-24s %-24s %s%s%s\n", json_text(row, "id"),
		     revoked ? "ended" : "open", json_text(row, "created"),
		     json_text(row, "expires"), json_text(row, "repo"),
		     json_text(row, "repo")[0] && json_text(row, "branch")[0]
			     ? " "
			     : "",
		     json_text(row, "branch"));
}

static void session_head(void)
{
	(void)printf("%-28s %-8s %-24s %-24s %s\n", "ID", "STATE", "CREATED",
		     "EXPIRES", "REPOSITORY");
}

static void sessions_table(const json_t *value)
{
	const json_t *rows = json_object_get(value, "sessions");
	long long total = json_integer_value(json_object_get(value, "total"));
	size_t index;
	json_t *row;

	session_head();
	json_array_foreach(rows, index, row) session_row(row);
	if (total > (long long)json_array_size(rows))
		(void)fprintf(stderr,
			      "sallyport: these are the newest %zu of %lld\n",
			      json_array_size(rows), total);
}

static void session_table(const json_t *value)
{
	session_head();
	session_row(value);
	print_permissions(value);
	print_signing(value);
}

/* Ids go into a path as they are. 0, or -1: it was told. */
static int path_of(const struct cli *cli, char path[PATH_BYTES])
{
	const char *id = cli->argv[optind];

	if (strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(id) &&
	    id[0] &&
	    snprintf(path, PATH_BYTES, "/v1/sessions/%s", id) < PATH_BYTES)
		return 0;
	return cli_wrong(cli,
			 "'%s' is no id of a session: `sallyport session list` "
			 "has them",
			 id);
}

static int get(struct cli *cli, const char *path,
	       void (*table)(const json_t *value))
{
	const struct client_request request = {.method = "GET", .path = path};
	auto_type(reply_release) struct reply reply;
	struct err err;

	if (control_once(&request, &reply, &err) < 0)
		return cli_fail_err(&err);
	return cli_print(cli, reply.json, table);
}

int cmd_session_list(struct cli *cli)
{
	return arguments_words(cli, 0, 0) == 0
		       ? get(cli, "/v1/sessions", sessions_table)
		       : cli_usage(cli);
}

int cmd_session_show(struct cli *cli)
{
	char path[PATH_BYTES];

	if (arguments_words(cli, 1, 1) < 0 || path_of(cli, path) < 0)
		return cli_usage(cli);
	return get(cli, path, session_table);
}

int cmd_session_revoke(struct cli *cli)
{
	char path[PATH_BYTES];
	struct client client;
	struct err err;
	int result;

	if (arguments_words(cli, 1, 1) < 0 || path_of(cli, path) < 0)
		return cli_usage(cli);
	if (control_open(&client, &err) < 0)
		return cli_fail_err(&err);
	result = gateway_end(&client, cli->argv[optind], "revoked", &err);
	client_close(&client);
	if (result == 0 || err.code == ERR_MISSING)
		drop_ca(cli->argv[optind]);
	return result < 0 ? cli_fail_err(&err) : EXIT_OK;
}

static void renewed_table(const json_t *value)
{
	(void)printf("%s lasts until %s\n", json_text(value, "id"),
		     json_text(value, "expires"));
}

/* --ttl TIME, then the id. 0, or -1. */
static int parse_renew(struct cli *cli, char body[PATH_BYTES],
		       char path[PATH_BYTES])
{
	static const struct option table[] = {
		{"ttl", required_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	uint64_t ttl = 0; /* not given */
	size_t len;
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option != 't' ||
		    arguments_seconds("--ttl", ttl_range, &ttl) < 0)
			return -1;
	}
	if (ttl == 0)
		return cli_wrong(cli, "--ttl TIME is missing");
	if (arguments_count(cli, 1, 1) < 0 || path_of(cli, path) < 0)
		return -1;
	(void)snprintf(body, PATH_BYTES, "{\"ttl_s\": %llu}",
		       (unsigned long long)ttl);
	len = strlen(path);
	return snprintf(path + len, PATH_BYTES - len, "/renew") <
			       (int)(PATH_BYTES - len)
		       ? 0
		       : -1;
}

int cmd_session_renew(struct cli *cli)
{
	char path[PATH_BYTES], body[PATH_BYTES];
	struct client_request request = {
		.method = "POST",
		.path = path,
		.type = "application/json",
	};
	auto_type(reply_release) struct reply reply;
	struct err err;

	reply = (struct reply){0};
	if (parse_renew(cli, body, path) < 0)
		return cli_usage(cli);
	request.body = bytes_str(body);
	if (control_once(&request, &reply, &err) < 0)
		return cli_fail_err(&err);
	return cli_print(cli, reply.json, renewed_table);
}
