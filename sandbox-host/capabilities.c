#include "sandbox-host/capabilities.h"

#include <cap-ng.h>
#include <linux/securebits.h>
#include <sys/prctl.h>

/* Not by the library: it reads /proc three times for it, and keeps whose state
 * it knows over a fork that it does not see (namespaces.h). */
int capabilities_drop_bounds(struct err *err)
{
	int is_in;

	/* Until there is no such capability. */
	for (unsigned long cap = 0;
	     (is_in = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0; cap++)
		if (is_in && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return err_system(err, "capabilities: drop the "
					       "bounding set");
	return 0;
}

int capabilities_drop(struct err *err)
{
	const unsigned long bits =
		SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		SECBIT_NO_CAP_AMBIENT_RAISE |
		SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
		return err_system(err, "capabilities: lock");
	if (capabilities_drop_bounds(err) < 0)
		return -1;
	capng_clear(CAPNG_SELECT_ALL);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0 ||
	    capng_apply(CAPNG_SELECT_AMBIENT) != 0)
		return err_system(err, "capabilities: drop");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_system(err, "capabilities: set no_new_privs");
	return 0;
}
