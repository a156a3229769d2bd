/*
 * Where placeholders stand in a request.
 */
#include <stdlib.h>

#include "common/base64.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "gateway/edge/attach.h"
#include "gateway/edge/placeholders.h"
#include "gateway/edge/stray.h"
#include "policies/query.h"

#define HOSTS_TOLD 4

struct finding {
	struct conn *conn;
	const struct policy_credential *credential; /* of the request */
	struct leg_swap *swaps;
	size_t count;
};

/* What is being looked at. */
struct spot {
	struct bytes text;
	unsigned place;	      /* enum placeholder_place */
	struct leg_swap swap; /* all but the offset */
	const char *name;
};

static bool holds(struct bytes text, struct bytes placeholder)
{
	return bytes_find_bytes(text, placeholder, 0) >= 0;
}

struct bytes swaps_basic(struct conn *conn, struct bytes value)
{
	struct bytes scheme;
	uint8_t *plain;
	ptrdiff_t len;

	if (!bytes_split(&value, ' ', &scheme) ||
	    !bytes_is_nocase(scheme, "Basic"))
		return bytes_from(NULL, 0);
	plain = arena_alloc(&conn->arena, value.len + 1);
	len = plain ? base64_decode(bytes_trim(value), plain, value.len) : -1;
	return bytes_from(plain, len < 0 ? 0 : (size_t)len);
}

bool swaps_hold(struct conn *conn, const struct policy_credential *credential,
		struct bytes value)
{
	const struct placeholders *all = conn->law->placeholders;
	struct bytes plain = swaps_basic(conn, value);

	for (size_t i = 0; all && i < all->count; i++)
		if (all->items[i].credential == credential &&
		    (holds(value, all->items[i].text) ||
		     holds(plain, all->items[i].text)))
			return true;
	return false;
}

/* ---- the refusal ---- */

static int tell_places(struct buf *out, unsigned places)
{
	static const struct {
		unsigned place;
		const char *words;
	} all[] = {
		{PLACE_HEADER, "in a header"}, {PLACE_BASIC, "as Basic"},
		{PLACE_QUERY, "in the query"}, {PLACE_PATH, "in the path"},
		{PLACE_BODY, "in the body"},
	};
	const char *before = "";

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!(places & all[i].place))
			continue;
		if (buf_add_format(out, "%s%s", before, all[i].words) < 0)
			return -1;
		before = ", ";
	}
	return 0;
}

/* Where it may be used. */
static void advise(struct conn *conn, const struct policy_credential *of)
{
	auto_type(buf_release) struct buf out;
	int result;

	buf_init(&out, 2048);
	result = buf_add_str(&out, "send it ");
	if (result == 0)
		result = of->places ? tell_places(&out, of->places)
				    : buf_add_str(&out, "to be replaced");
	for (size_t i = 0; i < of->hosts.count && i < HOSTS_TOLD; i++)
		if (result == 0)
			result = buf_add_format(&out, "%s%.*s",
						i ? ", " : " to ",
						BYTES_ARGS(of->hosts.items[i]));
	if (result == 0)
		result = buf_add_format(
			&out,
			", in requests that are allowed with the "
			"credential \"%.*s\"",
			BYTES_ARGS(of->name));
	if (result == 0)
		conn->refusal.try_instead =
			arena_copy(&conn->arena, buf_view(&out));
}

int swaps_refuse(struct conn *conn, const struct policy_credential *of,
		 const char *place)
{
	conn_refuse(conn, CONSTRAINT_placeholder_not_allowed,
		    "the placeholder of \"%.*s\" stands in the %s, where its "
		    "secret does not go",
		    BYTES_ARGS(of->name), place);
	advise(conn, of);
	return -1;
}

/* ---- looking ---- */

static int add(struct finding *finding, const struct spot *spot, size_t at)
{
	if (finding->count == LEG_SWAPS_MAX) {
		conn_refuse(finding->conn, CONSTRAINT_placeholder_not_allowed,
			    "placeholders stand in more than %d places",
			    LEG_SWAPS_MAX);
		return -1;
	}
	finding->swaps[finding->count] = spot->swap;
	finding->swaps[finding->count++].at = at;
	return 0;
}

static bool may_stand(const struct finding *finding,
		      const struct placeholder *placeholder,
		      const struct spot *spot)
{
	return placeholder->credential == finding->credential &&
	       placeholder->part == PLACEHOLDER_VALUE &&
	       (finding->credential->places & spot->place) &&
	       !finding->conn->errand->request.is_websocket;
}

static int look_for(struct finding *finding, const struct spot *spot,
		    const struct placeholder *placeholder)
{
	size_t from = 0;

	for (;;) {
		ptrdiff_t at =
			bytes_find_bytes(spot->text, placeholder->text, from);

		if (at < 0)
			return 0;
		if (!may_stand(finding, placeholder, spot))
			return swaps_refuse(finding->conn,
					    placeholder->credential,
					    spot->name);
		if (add(finding, spot, (size_t)at) < 0)
			return -1;
		from = (size_t)at + placeholder->text.len;
	}
}

/* Does the text stand for the request's own credential as well? */
static bool means_own(const struct finding *finding,
		      const struct placeholder *placeholder)
{
	const struct placeholders *all = finding->conn->law->placeholders;

	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].credential == finding->credential &&
		    placeholder->credential != finding->credential &&
		    bytes_equal(all->items[i].text, placeholder->text))
			return true;
	return false;
}

static int look_at(struct finding *finding, const struct spot *spot)
{
	const struct placeholders *all = finding->conn->law->placeholders;

	for (size_t i = 0; i < all->count; i++)
		if (!means_own(finding, &all->items[i]) &&
		    look_for(finding, spot, &all->items[i]) < 0)
			return -1;
	return 0;
}

/* Basic is looked at as it is meant, and sent on so: the courier encodes
 * it again. */
static int look_at_field(struct finding *finding, size_t index)
{
	struct field *field =
		&finding->conn->errand->request.fields.items[index];
	struct spot spot = {
		.text = field->value,
		.place = PLACE_HEADER,
		.swap = {.place = LEG_IN_FIELD, .field = (uint16_t)index},
		.name = "head",
	};
	struct bytes plain = {NULL, 0};
	size_t before = finding->count;

	if (bytes_is_nocase(field->name, "authorization"))
		plain = swaps_basic(finding->conn, field->value);
	if (plain.len) {
		spot.text = plain;
		spot.place = PLACE_BASIC;
		spot.swap.place = LEG_IN_BASIC;
		spot.name = "user and password";
	}
	if (look_at(finding, &spot) < 0)
		return -1;
	if (plain.len && finding->count > before) {
		if (!http_is_value(plain)) {
			conn_refuse(finding->conn, CONSTRAINT_request_malformed,
				    "user and password hold control bytes");
			return -1;
		}
		field->value = plain;
	}
	return 0;
}

/* Escaped letters hide one from those who do not decode; a server does. */
static int look_behind_escapes(struct finding *finding)
{
	struct conn *conn = finding->conn;
	const struct placeholders *all = conn->law->placeholders;
	struct fields pairs;
	struct err err;

	if (bytes_find(conn->errand->request.query, '%', 0) < 0)
		return 0;
	if (query_parse(&conn->arena, conn->errand->request.query, &pairs,
			&err) < 0) {
		conn_refuse(conn, CONSTRAINT_path_ambiguous, "%s", err.text);
		return -1;
	}
	for (size_t i = 0; i < pairs.count * all->count; i++) {
		const struct field *pair = &pairs.items[i / all->count];
		const struct placeholder *one = &all->items[i % all->count];

		if ((holds(pair->name, one->text) ||
		     holds(pair->value, one->text)) &&
		    !holds(conn->errand->request.query, one->text))
			return swaps_refuse(conn, one->credential, "query");
	}
	return 0;
}

static int look_at_target(struct finding *finding)
{
	struct request *request = &finding->conn->errand->request;
	size_t query_at = request->path.len + 1;
	struct spot path = {
		.text = request->path,
		.place = PLACE_PATH,
		.swap = {.place = LEG_IN_PATH, .escape = LEG_PERCENT},
		.name = "path",
	};
	struct spot query = path;
	size_t before;

	query.text = request->query;
	query.place = PLACE_QUERY;
	query.name = "query";
	if (look_behind_escapes(finding) < 0 || look_at(finding, &path) < 0)
		return -1;
	before = finding->count;
	if (look_at(finding, &query) < 0)
		return -1;
	for (size_t i = before; i < finding->count; i++)
		finding->swaps[i].at += query_at;
	return 0;
}

static struct bytes value_of(const struct fields *fields, const char *name)
{
	const struct field *field = fields_find(fields, name);

	return field ? field->value : bytes_from(NULL, 0);
}

/* application/json, application/problem+json, text/x-json... */
static bool names_json(struct bytes type)
{
	for (size_t i = 0; i + 4 <= type.len; i++)
		if (bytes_is_nocase(bytes_slice(type, i, i + 4), "json"))
			return true;
	return false;
}

static enum leg_escape escape_of(const struct fields *fields)
{
	struct bytes type = value_of(fields, "Content-Type");

	if (bytes_is_nocase(bytes_slice(type, 0, 33),
			    "application/x-www-form-urlencoded"))
		return LEG_PERCENT;
	return names_json(type) ? LEG_JSON : LEG_PLAIN;
}

static int look_at_body(struct finding *finding)
{
	struct conn *conn = finding->conn;
	const struct spot spot = {
		.text = look_body(conn),
		.place = PLACE_BODY,
		.swap = {.place = LEG_IN_BODY,
			 .escape = (uint8_t)escape_of(
				 &conn->errand->request.fields)},
		.name = "body",
	};

	size_t before = finding->count;

	if (spot.text.len == 0)
		return 0;
	if (look_at(finding, &spot) < 0)
		return -1;
	/* Where it may stand, it stands as it is. */
	return finding->count > before
		       ? 0
		       : stray_check(conn, spot.text,
				     value_of(&conn->errand->request.fields,
					      "Content-Encoding"),
				     "body");
}

/* ---- all of it ---- */

static int compare_swaps(const void *a, const void *b)
{
	const struct leg_swap *one = a;
	const struct leg_swap *two = b;

	if (one->place != two->place)
		return one->place - two->place;
	if (one->field != two->field)
		return one->field - two->field;
	return (one->at > two->at) - (one->at < two->at);
}

int swaps_find(struct conn *conn, const struct policy_credential *credential)
{
	struct finding finding = {.conn = conn, .credential = credential};

	if (conn->law->placeholders->count == 0)
		return 0;
	finding.swaps = arena_array(&conn->arena, LEG_SWAPS_MAX,
				    sizeof(*finding.swaps));
	if (!finding.swaps) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	for (size_t i = 0; i < conn->errand->request.fields.count; i++)
		if (look_at_field(&finding, i) < 0)
			return -1;
	if (look_at_target(&finding) < 0 || look_at_body(&finding) < 0)
		return -1;
	if (finding.count)
		qsort(finding.swaps, finding.count, sizeof(finding.swaps[0]),
		      compare_swaps);
	conn->errand->request.swaps = finding.swaps;
	conn->errand->request.swaps_count = finding.count;
	return 0;
}
