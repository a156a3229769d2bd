#include "gateway/vault/prints.h"

#include "common/secret.h"
#include "gateway/vault/supply.h"
#include "policies/inspect/prints.h"
#include "policies/secret_parts.h"

/* Of a value that is attached as the binding says: each of its parts. */
static int add_value(struct secret_prints *prints,
		     const struct scope_binding *binding, struct bytes value,
		     struct err *err)
{
	struct bytes name = bytes_slice(binding->name, 0, PRINTS_NAME_MAX);
	struct bytes parts[SECRET_PARTS_MAX];
	size_t count =
		secret_parts((enum policy_attach)binding->attach, value, parts);

	for (size_t i = 0; i < count; i++)
		if (prints_add(prints, name, parts[i], err) < 0)
			return -1;
	return 0;
}

/* A secret that is not there cannot leak. */
static int add(struct vault *vault, const struct session *session,
	       const struct scope_binding *binding,
	       struct secret_prints *prints, struct err *err)
{
	const struct supply_wanted wanted = {.name = binding->secret,
					     .session = session,
					     .binding = binding};
	const struct supply *supply = supply_known(vault, &wanted);
	struct bytes name = binding->secret;
	char key[LENT_KEY_MAX + 1];
	struct secret value;
	int rc;

	if (supply)
		return add_value(prints, binding, secret_view(&supply->value),
				 err);
	if (lent_is_named(name))
		name = lent_key(bytes_str(session->id), name, key);
	secret_init(&value);
	if (vault_store_get(&vault->store, name, &value, err) < 0)
		return err->code == ERR_MISSING ? 0 : -1;
	rc = add_value(prints, binding, secret_view(&value), err);
	secret_release(&value);
	return rc;
}

/* Those that do not fit any more are left out. */
static void add_former(const struct former *former,
		       const struct scope_binding *binding,
		       struct secret_prints *prints)
{
	struct err err;

	for (size_t i = former->count; i-- > 0;)
		if (bytes_is(binding->secret, former->values[i].name))
			(void)add_value(prints, binding,
					secret_view(&former->values[i].value),
					&err);
}

int vault_prints(struct vault *vault, const struct session_table *sessions,
		 struct bytes session, struct buf *out, struct err *err)
{
	const struct session *found = session_find(sessions, session);
	const struct scope *scope = found ? session_scope(found) : NULL;
	struct secret_prints *prints;
	int rc = 0;

	if (!scope)
		return err_set(err, ERR_MISSING, "print secrets: no session");
	prints = prints_new();
	if (!prints)
		return err_set(err, ERR_LIBRARY, "print secrets: no memory");
	for (size_t i = 0; i < scope->bindings_count && rc == 0; i++)
		rc = add(vault, found, &scope->bindings[i], prints, err);
	for (size_t i = 0; i < scope->bindings_count && rc == 0; i++)
		add_former(&vault->former, &scope->bindings[i], prints);
	if (rc == 0 && prints_write(prints, out) < 0)
		rc = err_set(err, ERR_TOO_LARGE, "print secrets: too many");
	prints_free(prints);
	return rc;
}
