#include "gateway/flow/package.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "policies/permissions.h"

#define PACKAGE_ARENA_MAX (32 * 1024 * 1024)

/* The scope is one element of a list in the wire form: schemas nest by
 * lists only. */
struct package_wire {
	struct session_package session;
	const struct scope *scope;
	size_t scope_count;
};

#define SESSION(field) session.field

static const struct wire_field package_fields[] = {
	WIRE_TEXT(struct package_wire, SESSION(id), SESSION_ID_MAX),
	WIRE_U32(struct package_wire, SESSION(owner_uid)),
	WIRE_TEXT(struct package_wire, SESSION(repo), 2048),
	WIRE_TEXT(struct package_wire, SESSION(branch), 255),
	WIRE_TEXT(struct package_wire, SESSION(permissions),
		  PERMISSIONS_BYTES_MAX),
	WIRE_TEXT(struct package_wire, SESSION(permitted),
		  PERMISSIONS_BYTES_MAX),
	WIRE_TEXT(struct package_wire, SESSION(policy_name), 256),
	WIRE_U64(struct package_wire, SESSION(created_ms)),
	WIRE_U64(struct package_wire, SESSION(expires_ms)),
	WIRE_BYTES(struct package_wire, SESSION(lease_hash), DIGEST_LEN),
	WIRE_BOOL(struct package_wire, SESSION(has_proxy)),
	WIRE_BYTES(struct package_wire, SESSION(policy_text), POLICY_TEXT_MAX),
	WIRE_BYTES(struct package_wire, SESSION(guardrail_text),
		   POLICY_TEXT_MAX),
	WIRE_LIST(struct package_wire, scope, 1, &scope_schema),
};
static const struct wire_schema session_package_schema =
	WIRE_SCHEMA("package", struct package_wire, package_fields);

int package_seal(const struct session_package *session, struct err *err)
{
	struct package_wire wire = {.session = *session,
				    .scope = &session->scope,
				    .scope_count = 1};
	auto_type(buf_release) struct buf out;

	buf_init(&out, PACKAGE_BYTES_MAX);
	if (wire_encode(&session_package_schema, &wire, &out, err) < 0)
		return -1;
	return wire_memfd_seal("sallyport-session", buf_view(&out), err);
}

static int package_decode(struct package *package, struct err *err)
{
	struct package_wire wire;

	if (wire_decode(&session_package_schema, package->mapping,
			&package->arena, &wire, err) < 0)
		return -1;
	if (wire.scope_count != 1)
		return err_set(err, ERR_INVALID, "read package: no scope");
	if (wire.session.lease_hash.len != DIGEST_LEN)
		return err_set(err, ERR_INVALID, "read package: lease hash");
	if (wire.session.id.len == 0)
		return err_set(err, ERR_INVALID, "read package: no id");
	package->session = wire.session;
	package->session.scope = wire.scope[0];
	return 0;
}

struct package *package_open(int fd, struct err *err)
{
	struct package *package = calloc(1, sizeof(*package));

	if (!package) {
		(void)err_set(err, ERR_SYSTEM, "allocate package");
		return NULL;
	}
	arena_init(&package->arena, PACKAGE_ARENA_MAX);
	if (wire_memfd_map(fd, PACKAGE_BYTES_MAX, &package->mapping, err) < 0 ||
	    package_decode(package, err) < 0) {
		package_free(package);
		return NULL;
	}
	return package;
}

void package_free(struct package *package)
{
	if (!package)
		return;
	arena_release(&package->arena);
	if (package->mapping.data)
		wire_memfd_unmap(package->mapping);
	free(package);
}
