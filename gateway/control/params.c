#include "gateway/control/params.h"

#include "common/cleanup.h"

#define NUMBER_DIGITS 18

struct known {
	const char *name;
	enum param param;
};

static bool is_plain(struct bytes value)
{
	for (size_t i = 0; i < value.len; i++) {
		uint8_t c = value.data[i];

		if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') &&
		    (c < '0' || c > '9') && c != '.' && c != '_' && c != '-')
			return false;
	}
	return value.len > 0;
}

static int read_number(struct bytes value, uint64_t *number, struct err *err)
{
	if (bytes_to_u64(value, NUMBER_DIGITS, number) < 0)
		return err_set(err, ERR_INVALID, "%.*s is no number",
			       BYTES_ARGS(value));
	return 0;
}

static int read_flag(struct bytes value, bool *flag, struct err *err)
{
	if (!bytes_is(value, "0") && !bytes_is(value, "1"))
		return err_set(err, ERR_INVALID, "%.*s is neither 0 nor 1",
			       BYTES_ARGS(value));
	*flag = bytes_is(value, "1");
	return 0;
}

static int read_value(struct params *params, enum param param,
		      struct bytes value, struct err *err)
{
	switch (param) {
	case PARAM_AFTER:
		return read_number(value, &params->after, err);
	case PARAM_BEFORE:
		return read_number(value, &params->before, err);
	case PARAM_LIMIT:
		if (read_number(value, &params->limit, err) < 0)
			return -1;
		if (params->limit == 0)
			return err_set(err, ERR_INVALID, "limit is 0");
		return 0;
	case PARAM_DENIED:
		return read_flag(value, &params->denied, err);
	case PARAM_NEWEST:
		return read_flag(value, &params->newest, err);
	case PARAM_SESSION:
		params->session = value;
		return 0;
	case PARAM_KIND:
		params->kind = value;
		return 0;
	case PARAM_STATE:
		params->state = value;
		return 0;
	case PARAM_NAME:
		params->name = value;
		return 0;
	case PARAM_REASON:
	default:
		params->reason = value;
		return 0;
	}
}

static const struct known *find(struct bytes name, unsigned allowed)
{
	static const struct known all[] = {
		{"after", PARAM_AFTER},	    {"limit", PARAM_LIMIT},
		{"session", PARAM_SESSION}, {"kind", PARAM_KIND},
		{"denied", PARAM_DENIED},   {"newest", PARAM_NEWEST},
		{"reason", PARAM_REASON},   {"state", PARAM_STATE},
		{"before", PARAM_BEFORE},   {"name", PARAM_NAME},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if ((all[i].param & allowed) && bytes_is(name, all[i].name))
			return &all[i];
	return NULL;
}

int params_read(struct bytes query, unsigned allowed, struct params *params,
		struct err *err)
{
	struct bytes pair, name;
	bool more = query.len > 0;

	*params = (struct params){0};
	while (more) {
		const struct known *known;

		more = bytes_split(&query, '&', &pair);
		if (!bytes_split(&pair, '=', &name) || !is_plain(pair))
			return err_set(err, ERR_INVALID,
				       "a parameter is name=value, the value "
				       "of letters, digits, '.', '_', '-'");
		known = find(name, allowed);
		if (!known)
			return err_set(err, ERR_INVALID,
				       "there is no parameter %.*s here",
				       BYTES_ARGS(name));
		if (params->given & known->param)
			return err_set(err, ERR_INVALID, "%s is given twice",
				       known->name);
		params->given |= known->param;
		if (read_value(params, known->param, pair, err) < 0)
			return -1;
	}
	return 0;
}
