#include "sandbox-host/api/areas.h"

const struct route files_routes[] = {
	{0},
};
