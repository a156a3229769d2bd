#include "sandbox-host/api/areas.h"

const struct route egress_routes[] = {
	{0},
};
