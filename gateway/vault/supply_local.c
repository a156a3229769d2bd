/*
 * Values that the warden opens for us: files, systemd credentials, and what
 * a program of the operator wrote before it ended.
 */
#include <errno.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/vault/supply.h"

/* To its end, or to what a pipe holds whose writer is not gone. */
static int read_all(int fd, uint8_t *out, size_t size, size_t *len,
		    struct err *err)
{
	ssize_t got;

	*len = 0;
	while (*len < size) {
		got = read(fd, out + *len, size - *len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno != EAGAIN)
			return err_system(err, "read it");
		if (got <= 0)
			return 0;
		*len += (size_t)got;
	}
	return err_set(err, ERR_TOO_LARGE, "it is larger than %d bytes",
		       SECRET_VALUE_MAX);
}

/* One trailing newline is not the secret's. */
static int read_value(int fd, struct secret *value, struct err *err)
{
	static uint8_t bytes[SECRET_VALUE_MAX + 2];
	size_t len;
	int result = read_all(fd, bytes, sizeof(bytes), &len, err);

	if (result == 0 && len > 0 && bytes[len - 1] == '\n')
		len--;
	if (result == 0 && len == 0)
		result = err_set(err, ERR_INVALID, "it is empty");
	else if (result == 0 && len > SECRET_VALUE_MAX)
		result =
			err_set(err, ERR_TOO_LARGE,
				"it is larger than %d bytes", SECRET_VALUE_MAX);
	if (result == 0)
		result = secret_set(value, bytes_from(bytes, len), err);
	secret_wipe(bytes, sizeof(bytes));
	return result;
}

static void on_opened(struct rpc_outcome *outcome, void *owner)
{
	struct supply *supply = owner;
	uint64_t ms = supply->source->kind == SOURCE_EXEC
			      ? supply->source->cache_ms
			      : SUPPLY_FILE_MS;
	struct secret value;
	struct err err;

	secret_init(&value);
	if (outcome->err) {
		(void)err_set(
			&err, outcome->err->code, "%.*s",
			BYTES_ARGS(outcome->refusal
					   ? outcome->refusal->detail
					   : bytes_str(outcome->err->text)));
		supply_failed(supply, err.text);
	} else if (outcome->fd < 0) {
		supply_failed(supply, "the warden opened nothing");
	} else if (read_value(outcome->fd, &value, &err) < 0) {
		supply_failed(supply, err.text);
	} else {
		supply_came(supply, &value, ms, ms);
	}
	secret_release(&value);
}

void supply_ask_warden(struct supply *supply)
{
	const struct msg_source_ref message = {.name = supply->source->name};
	const struct rpc_call call = {
		.type = MSG_SOURCE_OPEN,
		.schema = &msg_source_ref_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = supply->source->timeout_ms + 1000,
		.on_outcome = on_opened,
		.owner = supply,
	};
	struct err err;

	if (!supply->vault->keeper->warden ||
	    rpc_ask(supply->vault->keeper->warden, &call, NULL, &err) < 0)
		supply_failed(supply, "the warden cannot be asked");
}
