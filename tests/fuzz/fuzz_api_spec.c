/*
 * spec_read() on any JSON: what it accepts can be sent to the daemon, borrows
 * within its bounds, and has only what the daemon would take as well.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/cleanup.h"
#include "policies/policy.h"
#include "sandbox-host/api/spec.h"

#define ARENA_MAX (8 * 1024 * 1024)
#define NOW_MS	  1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sandbox_request *request)
{
	auto_type(buf_release) struct buf out;
	struct err err;

	assert(request->entrypoint_count <= REQUEST_ARGS_MAX);
	assert(request->env_count <= REQUEST_ENV_MAX);
	assert(request->metadata_count <= REQUEST_METADATA_MAX);
	assert(request->volumes_count <= REQUEST_VOLUMES_MAX);
	assert(request->note.len <= REQUEST_NOTE_MAX);
	assert(request->expires_ms == 0 || request->expires_ms > NOW_MS);
	for (size_t i = 0; i < request->env_count; i++)
		assert(bytes_find(request->env[i].text, '=', 0) > 0);
	buf_init(&out, REQUEST_BYTES_MAX);
	(void)wire_encode(&sandbox_request_schema, request, &out, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct api_config config;
	auto_type(arena_release) struct arena arena = {0};
	struct sandbox_request request;
	struct spec_fault fault = {0};
	json_t *root = json_loadb((const char *)data, size,
				  JSON_REJECT_DUPLICATES, NULL);

	if (!root)
		return 0;
	arena_init(&arena, ARENA_MAX);
	if (spec_read(&arena, &config, root, NOW_MS, &request, &fault) == 0)
		check(&request);
	else
		assert(fault.status >= 400 && fault.text[0]);
	json_decref(root);
	return 0;
}
