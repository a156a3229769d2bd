/*
 * Files that host.yaml names and that are wanted only when a sandbox begins:
 * they may come later, so that one which is not there is a warning, no error.
 */
#ifndef SANDBOX_HOST_DAEMON_MISSING_H
#define SANDBOX_HOST_DAEMON_MISSING_H

#include "sandbox-host/daemon/config.h"

/* Tell of a default policy that can not be read just now, and of images and
 * roots of volumes that are not there. What skopeo fetches is not looked at. */
void missing_tell(const struct host_config *config,
		  void (*tell)(const char *text));

#endif
