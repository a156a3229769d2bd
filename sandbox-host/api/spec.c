#include "sandbox-host/api/spec.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "policies/policy.h"

#define MEMORY_LEAST   (16ull * 1024 * 1024)
#define CPU_LEAST      10 /* thousandths of a core */
#define EXTENSIONS_MAX 32
#define THOUSAND       1000

/* What a command inside has where nobody says otherwise. */
static const struct text_item caller[] = {
	{BYTES_LITERAL("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
		       "/sbin:/bin")},
	{BYTES_LITERAL("LANG=C.UTF-8")},
};

/* Where a spec is read to. */
struct reading {
	struct arena *arena;
	const struct api_config *config;
	const json_t *root;
	struct sandbox_request *request;
	struct spec_fault *fault;
};

static struct bytes text_of(const json_t *value)
{
	return bytes_from(json_string_value(value), json_string_length(value));
}

/* A member that may be absent or null. */
static const json_t *member(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_null(value) ? NULL : value;
}

static int no_memory(struct reading *reading)
{
	return spec_refuse(reading->fault, 500, "no memory");
}

/* ---- maps and lists of strings ---- */

/* An object of strings, or absent. */
static int check_strings(struct reading *reading, const char *name,
			 size_t count_max, const json_t **object)
{
	const char *key;
	json_t *value;

	*object = member(reading->root, name);
	if (!*object)
		return 0;
	if (!json_is_object(*object))
		return spec_refuse(reading->fault, 422, "%s must be an object",
				   name);
	if (json_object_size(*object) > count_max)
		return spec_refuse(reading->fault, 400,
				   "%s has at most %zu members", name,
				   count_max);
	json_object_foreach((json_t *)(uintptr_t)*object, key, value)
	{
		if (!json_is_string(value))
			return spec_refuse(reading->fault, 422,
					   "%s must have strings", name);
	}
	return 0;
}

static int read_env(struct reading *reading)
{
	const json_t *env;
	struct text_item *items;
	const char *key;
	json_t *value;
	size_t count = 0;

	if (check_strings(reading, "env", REQUEST_ENV_MAX, &env) < 0)
		return -1;
	items = arena_array(reading->arena, json_object_size(env) + 1,
			    sizeof(*items));
	if (!items)
		return no_memory(reading);
	json_object_foreach((json_t *)(uintptr_t)env, key, value)
	{
		const char *text;

		if (!key[0] || strchr(key, '='))
			return spec_refuse(reading->fault, 400,
					   "env: a name is not empty, and has "
					   "no '='");
		text = arena_format(reading->arena, "%s=%s", key,
				    json_string_value(value));
		if (!text || strlen(text) > REQUEST_ARG_MAX)
			return spec_refuse(reading->fault, 400,
					   "env: a value is too long");
		items[count++].text = bytes_str(text);
	}
	reading->request->env = items;
	reading->request->env_count = count;
	return 0;
}

static int read_metadata(struct reading *reading)
{
	const json_t *metadata;
	struct text_pair *pairs;
	const char *key;
	json_t *value;
	size_t count = 0;

	if (check_strings(reading, "metadata", REQUEST_METADATA_MAX,
			  &metadata) < 0)
		return -1;
	pairs = arena_array(reading->arena, json_object_size(metadata) + 1,
			    sizeof(*pairs));
	if (!pairs)
		return no_memory(reading);
	json_object_foreach((json_t *)(uintptr_t)metadata, key, value)
	{
		struct text_pair *pair = &pairs[count++];

		*pair = (struct text_pair){bytes_str(key), text_of(value)};
		if (spec_label(pair->name, pair->value, reading->fault) < 0)
			return -1;
	}
	reading->request->metadata = pairs;
	reading->request->metadata_count = count;
	return 0;
}

static int read_entrypoint(struct reading *reading)
{
	const json_t *list = member(reading->root, "entrypoint");
	struct text_item *items;
	const json_t *item;
	size_t i;

	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) == 0)
		return spec_refuse(reading->fault, 422,
				   "entrypoint must be a list of words");
	if (json_array_size(list) > REQUEST_ARGS_MAX)
		return spec_refuse(reading->fault, 400,
				   "entrypoint has at most %d words",
				   REQUEST_ARGS_MAX);
	items = arena_array(reading->arena, json_array_size(list),
			    sizeof(*items));
	if (!items)
		return no_memory(reading);
	json_array_foreach(list, i, item)
	{
		if (!json_is_string(item))
			return spec_refuse(reading->fault, 422,
					   "entrypoint must be a list of "
					   "words");
		items[i].text = text_of(item);
		if (items[i].text.len > REQUEST_ARG_MAX)
			return spec_refuse(reading->fault, 400,
					   "entrypoint: a word is too long");
	}
	if (items[0].text.len == 0)
		return spec_refuse(reading->fault, 400,
				   "entrypoint: its first word is empty");
	reading->request->entrypoint = items;
	reading->request->entrypoint_count = json_array_size(list);
	return 0;
}

/* ---- what it is made from ---- */

static int read_image(struct reading *reading)
{
	const json_t *image = member(reading->root, "image");
	const json_t *snapshot = member(reading->root, "snapshotId");
	const json_t *uri = json_object_get(image, "uri");
	struct sandbox_request *request = reading->request;

	if ((image == NULL) == (snapshot == NULL))
		return spec_refuse(reading->fault, 422,
				   "exactly one of image and snapshotId must "
				   "be there");
	if (image && !json_is_string(uri))
		return spec_refuse(reading->fault, 422,
				   "image must have a uri");
	if (image && member(image, "auth"))
		return spec_refuse(reading->fault, 400,
				   "image.auth: images are fetched by the "
				   "operator, not by requests");
	if (snapshot && !json_is_string(snapshot))
		return spec_refuse(reading->fault, 422,
				   "snapshotId must be a string");
	request->snapshot = text_of(snapshot);
	request->image = text_of(uri);
	if (image &&
	    (request->image.len == 0 || request->image.len > REQUEST_NAME_MAX))
		return spec_refuse(reading->fault, 400,
				   "image.uri is no name of host.yaml's "
				   "images");
	if (snapshot && (request->snapshot.len == 0 ||
			 request->snapshot.len > REQUEST_NAME_MAX))
		return spec_refuse(reading->fault, 400,
				   "snapshotId is no snapshot's");
	if (bytes_is(request->image, SPEC_IMAGE_HOST))
		request->image = bytes_from(NULL, 0);
	return 0;
}

static int read_volume(struct reading *reading, const json_t *item,
		       struct volume_request *volume)
{
	const json_t *host = member(item, "host");
	const json_t *path = json_object_get(host, "path");
	const json_t *mount = json_object_get(item, "mountPath");
	const json_t *sub = member(item, "subPath");
	const json_t *read_only = member(item, "readOnly");

	if (!json_is_object(item) || !json_is_string(mount) ||
	    (sub && !json_is_string(sub)) ||
	    (read_only && !json_is_boolean(read_only)))
		return spec_refuse(reading->fault, 422,
				   "volumes: one is {name, mountPath, "
				   "readOnly, subPath, host: {path}}");
	if (member(item, "pvc") || member(item, "ossfs"))
		return spec_refuse(reading->fault, 501,
				   "volumes: of this host there are host "
				   "paths only");
	if (!json_is_string(path))
		return spec_refuse(reading->fault, 422,
				   "volumes: host.path must be there");
	*volume = (struct volume_request){
		.source = text_of(path),
		.sub_path = text_of(sub),
		.target = text_of(mount),
		.is_read_only = json_is_true(read_only),
	};
	if (volume->source.len == 0 || volume->source.data[0] != '/' ||
	    volume->target.len == 0 || volume->target.data[0] != '/' ||
	    volume->source.len > REQUEST_PATH_MAX ||
	    volume->target.len > REQUEST_PATH_MAX ||
	    volume->sub_path.len > REQUEST_PATH_MAX)
		return spec_refuse(reading->fault, 400,
				   "volumes: paths must be absolute");
	return 0;
}

static int read_volumes(struct reading *reading)
{
	const json_t *list = member(reading->root, "volumes");
	struct volume_request *volumes;
	const json_t *item;
	size_t i;

	if (!list)
		return 0;
	if (!json_is_array(list))
		return spec_refuse(reading->fault, 422,
				   "volumes must be a list");
	if (json_array_size(list) > REQUEST_VOLUMES_MAX)
		return spec_refuse(reading->fault, 400, "at most %d volumes",
				   REQUEST_VOLUMES_MAX);
	volumes = arena_array(reading->arena, json_array_size(list) + 1,
			      sizeof(*volumes));
	if (!volumes)
		return no_memory(reading);
	json_array_foreach(list, i, item)
	{
		if (read_volume(reading, item, &volumes[i]) < 0)
			return -1;
	}
	reading->request->volumes = volumes;
	reading->request->volumes_count = json_array_size(list);
	return 0;
}

/* ---- limits ---- */

static int read_timeout(struct reading *reading, uint64_t now_ms)
{
	const json_t *timeout = member(reading->root, "timeout");
	json_int_t seconds = json_integer_value(timeout);

	if (!timeout)
		return 0;
	if (!json_is_integer(timeout))
		return spec_refuse(reading->fault, 422,
				   "timeout must be a number of seconds");
	if (seconds < 1 || (uint64_t)seconds > SPEC_TIMEOUT_MAX_S)
		return spec_refuse(reading->fault, 400,
				   "timeout: 1 to %llu seconds",
				   SPEC_TIMEOUT_MAX_S);
	reading->request->expires_ms = now_ms + (uint64_t)seconds * THOUSAND;
	return 0;
}

static int read_limit(struct reading *reading, const json_t *limits,
		      const char *name, uint64_t *thousandths)
{
	const json_t *value = json_object_get(limits, name);

	*thousandths = 0;
	if (!value)
		return 0;
	if (spec_quantity(text_of(value), thousandths) < 0)
		return spec_refuse(
			reading->fault, 400,
			"resourceLimits.%s is no quantity, like 500m "
			"or 512Mi",
			name);
	return 0;
}

static int read_limits(struct reading *reading)
{
	uint64_t cpu, memory, gpu;
	const json_t *limits;

	if (check_strings(reading, "resourceLimits", EXTENSIONS_MAX, &limits) <
		    0 ||
	    read_limit(reading, limits, "cpu", &cpu) < 0 ||
	    read_limit(reading, limits, "memory", &memory) < 0 ||
	    read_limit(reading, limits, "gpu", &gpu) < 0)
		return -1;
	if (gpu > 0)
		return spec_refuse(reading->fault, 501,
				   "resourceLimits.gpu: there are none");
	if (memory > 0 && memory / THOUSAND < MEMORY_LEAST)
		return spec_refuse(reading->fault, 400,
				   "resourceLimits.memory: at least 16Mi");
	if (limits && json_object_get(limits, "cpu") && cpu < CPU_LEAST)
		return spec_refuse(reading->fault, 400,
				   "resourceLimits.cpu: at least 10m");
	reading->request->memory_bytes = memory / THOUSAND;
	reading->request->cpu_milli = cpu;
	return 0;
}

static int read_platform(struct reading *reading)
{
#if defined(__x86_64__)
	static const char own[] = "amd64";
#else
	static const char own[] = "arm64";
#endif
	const json_t *platform = member(reading->root, "platform");
	const json_t *os = member(platform, "os");
	const json_t *arch = member(platform, "arch");

	if (!platform)
		return 0;
	if (!json_is_object(platform) || (os && !json_is_string(os)) ||
	    (arch && !json_is_string(arch)))
		return spec_refuse(reading->fault, 422,
				   "platform is {os, arch}");
	if ((os && !bytes_is(text_of(os), "linux")) ||
	    (arch && !bytes_is(text_of(arch), own)))
		return spec_refuse(reading->fault, 400,
				   "platform: this host is linux on %s", own);
	return 0;
}

/* ---- the policy ---- */

/* A name of host.yaml's, or the text itself. */
static int find_policy(struct reading *reading, struct bytes given)
{
	const struct api_config *config = reading->config;

	for (size_t i = 0; i < config->policies_count; i++) {
		if (!bytes_equal(config->policies[i].name, given))
			continue;
		reading->request->policy = config->policies[i].text;
		return 0;
	}
	if (bytes_find(given, '\n', 0) < 0 && bytes_find(given, ':', 0) < 0)
		return spec_refuse(reading->fault, 400,
				   "extensions: sallyport.policy is neither "
				   "the text of one nor a name of host.yaml's "
				   "policies");
	if (given.len > POLICY_TEXT_MAX)
		return spec_refuse(reading->fault, 413,
				   "extensions: sallyport.policy is too long");
	reading->request->policy = given;
	return 0;
}

static int read_extensions(struct reading *reading)
{
	const json_t *extensions, *policy;

	if (check_strings(reading, "extensions", EXTENSIONS_MAX, &extensions) <
	    0)
		return -1;
	if (json_object_get(extensions, "poolRef"))
		return spec_refuse(reading->fault, 501,
				   "extensions: poolRef: a pool is used "
				   "wherever it fits, it has no name here");
	if (json_object_get(extensions, "access.renew.extend.seconds"))
		return spec_refuse(reading->fault, 501,
				   "extensions: access.renew.extend.seconds: "
				   "being used renews no sandbox: ask for "
				   "renew-expiration");
	reading->request->repo =
		text_of(json_object_get(extensions, "sallyport.repo"));
	reading->request->branch =
		text_of(json_object_get(extensions, "sallyport.branch"));
	policy = json_object_get(extensions, "sallyport.policy");
	return policy ? find_policy(reading, text_of(policy)) : 0;
}

static int read_network(struct reading *reading)
{
	const json_t *network = member(reading->root, "networkPolicy");
	const json_t *proxy = member(reading->root, "credentialProxy");

	if (proxy &&
	    (!json_is_object(proxy) ||
	     (json_is_true(json_object_get(proxy, "enabled")) && !network)))
		return spec_refuse(reading->fault, 400,
				   "credentialProxy wants a networkPolicy");
	if (!network)
		return 0;
	if (reading->request->policy.len > 0)
		return spec_refuse(reading->fault, 400,
				   "networkPolicy and sallyport.policy: one of "
				   "them");
	return spec_network(reading->arena, network, &reading->request->policy,
			    reading->fault);
}

/* ---- what is shown of it again ---- */

/* The longest that fits: with its extensions, or without. */
static int write_note(struct reading *reading)
{
	const json_t *root = reading->root;
	json_t *note = json_object();
	json_t *extensions =
		json_deep_copy(json_object_get(root, "extensions"));
	char *text = NULL;

	json_object_del(extensions, "sallyport.policy");
	(void)json_object_set(note, "image", json_object_get(root, "image"));
	(void)json_object_set(note, "snapshotId",
			      json_object_get(root, "snapshotId"));
	(void)json_object_set(note, "platform",
			      json_object_get(root, "platform"));
	(void)json_object_set_new(
		note, "network",
		json_boolean(member(root, "networkPolicy") != NULL));
	(void)json_object_set_new(note, "extensions", extensions);
	text = json_dumps(note, JSON_COMPACT);
	if (text && strlen(text) > REQUEST_NOTE_MAX) {
		free(text);
		(void)json_object_del(note, "extensions");
		text = json_dumps(note, JSON_COMPACT);
	}
	json_decref(note);
	if (text && strlen(text) <= REQUEST_NOTE_MAX)
		reading->request->note =
			arena_copy(reading->arena, bytes_str(text));
	free(text);
	return reading->request->note.len > 0
		       ? 0
		       : spec_refuse(reading->fault, 400,
				     "image and platform are too long");
}

int spec_read(struct arena *arena, const struct api_config *config,
	      const json_t *root, uint64_t now_ms,
	      struct sandbox_request *request, struct spec_fault *fault)
{
	struct reading reading = {arena, config, root, request, fault};

	*request = (struct sandbox_request){
		.caller = caller,
		.caller_count = ARRAY_SIZE(caller),
	};
	if (!json_is_object(root))
		return spec_refuse(fault, 422, "the body must be an object");
	if (read_image(&reading) < 0 || read_entrypoint(&reading) < 0 ||
	    read_env(&reading) < 0 || read_metadata(&reading) < 0 ||
	    read_volumes(&reading) < 0 || read_limits(&reading) < 0 ||
	    read_timeout(&reading, now_ms) < 0 || read_platform(&reading) < 0)
		return -1;
	return read_extensions(&reading) < 0 || read_network(&reading) < 0 ||
			       write_note(&reading) < 0
		       ? -1
		       : 0;
}
