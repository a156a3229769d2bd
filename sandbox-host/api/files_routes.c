#include "sandbox-host/api/areas.h"
#include "sandbox-host/api/files.h"

const struct route files_routes[] = {
	{"GET", "/files/info", ROUTE_TOKEN, 0, ROUTE_WHOLE, files_info},
	{"GET", "/files/search", ROUTE_TOKEN, 0, ROUTE_WHOLE, files_search},
	{"GET", "/files/download", ROUTE_TOKEN, 0, ROUTE_WHOLE, files_download},
	{"POST", "/files/upload", ROUTE_TOKEN, FILES_UPLOAD_MAX, ROUTE_STREAM,
	 files_upload},
	{"POST", "/files/permissions", ROUTE_TOKEN, FILES_BODY_MAX, ROUTE_WHOLE,
	 files_set_permissions},
	{"POST", "/files/mv", ROUTE_TOKEN, FILES_BODY_MAX, ROUTE_WHOLE,
	 files_move},
	{"POST", "/files/replace", ROUTE_TOKEN, FILES_BODY_MAX, ROUTE_WHOLE,
	 files_replace},
	{"DELETE", "/files", ROUTE_TOKEN, 0, ROUTE_WHOLE, files_delete},
	{"GET", "/directories/list", ROUTE_TOKEN, 0, ROUTE_WHOLE, files_list},
	{"POST", "/directories", ROUTE_TOKEN, FILES_BODY_MAX, ROUTE_WHOLE,
	 files_make_directories},
	{"DELETE", "/directories", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 files_delete_directories},
	{0},
};
