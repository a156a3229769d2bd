#include "sandbox-host/capabilities.h"

#include <cap-ng.h>
#include <linux/securebits.h>
#include <sys/prctl.h>

int capabilities_drop(struct err *err)
{
	const unsigned long bits =
		SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		SECBIT_NO_CAP_AMBIENT_RAISE |
		SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
		return err_system(err, "capabilities: lock");
	capng_clear(CAPNG_SELECT_ALL);
	if (capng_apply(CAPNG_SELECT_ALL) != 0)
		return err_system(err, "capabilities: drop");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_system(err, "capabilities: set no_new_privs");
	return 0;
}
