#include "sandbox-host/api/areas.h"

const struct route execd_routes[] = {
	{0},
};
