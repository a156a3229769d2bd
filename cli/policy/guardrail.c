#include "cli/policy/guardrail.h"

#include <stdio.h>

#include "common/cleanup.h"
#include "policies/guardrail.h"
#include "sandbox-host/session/client.h"
#include "sandbox-host/session/dirs.h"

#define REPORT_BYTES_MAX (256 * 1024)

void guardrail_init(struct guardrail *guardrail)
{
	buf_init(&guardrail->text, POLICY_TEXT_MAX + 1);
	guardrail->where[0] = '\0';
}

void guardrail_release(struct guardrail *guardrail)
{
	buf_release(&guardrail->text);
}

static int ask(struct client *client, struct reply *reply, struct err *err)
{
	static const struct client_request request = {.method = "GET",
						      .path = "/v1/guardrail"};

	return client_call(client, &request, reply, err) < 0
		       ? -1
		       : reply_check(reply, err);
}

/* That of the gateway that runs. None runs: there is none to read. */
static int read_gateway(struct guardrail *guardrail, struct err *err)
{
	auto_type(reply_release) struct reply reply = {0};
	char run[GUARDRAIL_WHERE_MAX - 64] = "";
	struct client client;
	const char *text;
	int asked;

	(void)session_run_dir(run, sizeof(run));
	if (client_open(&client, err) < 0) {
		(void)snprintf(guardrail->where, sizeof(guardrail->where),
			       "not known, since no gateway runs");
		return err->code == ERR_CLOSED ? 0 : -1;
	}
	asked = ask(&client, &reply, err);
	client_close(&client);
	if (asked < 0)
		return err_prefix(err, "the gateway's guardrail");
	text = json_string_value(json_object_get(reply.json, "text"));
	if (!text || buf_add_str(&guardrail->text, text) < 0)
		return err_set(err, ERR_INVALID,
			       "the gateway's guardrail: the answer is none");
	(void)snprintf(guardrail->where, sizeof(guardrail->where),
		       text[0] ? "that of the gateway at %s"
			       : "the gateway at %s has none",
		       run);
	return 0;
}

static int read_file(struct guardrail *guardrail, const char *file,
		     struct err *err)
{
	(void)snprintf(guardrail->where, sizeof(guardrail->where), "%s", file);
	if (cli_read_file(file, &guardrail->text, err) == 0)
		return 0;
	err->code = ERR_INVALID;
	return -1;
}

static struct policy *compile(const struct guardrail *guardrail,
			      const char *file,
			      const struct policy_variables *variables)
{
	auto_type(buf_release) struct buf report;
	struct policy_errors errors = {
		.out = &report,
		.file = file ? file : "guardrail",
	};
	struct policy *policy;

	buf_init(&report, REPORT_BYTES_MAX);
	policy = guardrail_compile(buf_view(&guardrail->text), variables,
				   &errors);
	if (!policy)
		(void)fprintf(stderr, "%.*ssallyport: %s: %zu error%s\n",
			      BYTES_ARGS(buf_view(&report)), errors.file,
			      errors.count, errors.count == 1 ? "" : "s");
	return policy;
}

int guardrail_bind(struct guardrail *guardrail, const char *file,
		   const struct policy_variables *variables,
		   struct policy *policy)
{
	struct policy *guard = NULL;
	struct err err = {0};

	if ((file ? read_file(guardrail, file, &err)
		  : read_gateway(guardrail, &err)) < 0)
		return cli_fail_err(&err);
	if (buf_len(&guardrail->text) == 0)
		return EXIT_OK;
	guard = compile(guardrail, file, variables);
	if (!guard)
		return EXIT_INVALID;
	return policy_guard(policy, guard) == 0
		       ? EXIT_OK
		       : cli_fail(EXIT_FAILED, "memory is out");
}
