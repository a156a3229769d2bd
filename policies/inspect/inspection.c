#include "policies/inspect/inspection.h"

#include <assert.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "policies/inspect/form.h"
#include "policies/inspect/json.h"
#include "policies/inspect/multipart.h"
#include "policies/inspect/parts.h"

struct inspection *inspection_new(const struct inspect_source *source,
				  struct err *err)
{
	struct inspection *inspection = calloc(1, sizeof(*inspection));

	if (!inspection) {
		err_set(err, ERR_LIBRARY, "inspect body: memory is out");
		return NULL;
	}
	inspection->source = *source;
	inspection->fault = "";
	if (decode_content(source->encoding, source->body, source->decoded_max,
			   &inspection->body, err) < 0) {
		inspection_free(inspection);
		return NULL;
	}
	inspection->is_typed =
		media_parse(source->type, &inspection->media) == 0 &&
		media_is_type(&inspection->media);
	return inspection;
}

void inspection_free(struct inspection *inspection)
{
	if (!inspection)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(inspection->answers); i++)
		arena_release(&inspection->answers[i].arena);
	inspection_graphql_free(inspection);
	json_decref(inspection->json);
	decoded_release(&inspection->body);
	free(inspection);
}

struct bytes inspection_content(const struct inspection *inspection)
{
	return inspection->body.content;
}

const char *inspection_fault(const struct inspection *inspection)
{
	return inspection->fault;
}

bool inspection_first(struct inspection *inspection, enum inspect_kind kind,
		      size_t arena_max)
{
	struct answer *answer = &inspection->answers[kind];
	bool is_new = !answer->fault;

	if (is_new)
		arena_init(&answer->arena, arena_max);
	inspection->fault = is_new ? "" : answer->fault;
	return is_new;
}

void inspection_answered(struct inspection *inspection, enum inspect_kind kind,
			 const char *fault)
{
	inspection->fault = fault ? fault : "";
	inspection->answers[kind].fault = inspection->fault;
}

static const char *read_json(struct inspection *inspection)
{
	if (!inspection->is_typed || !media_is_json(&inspection->media))
		return "the body's type is not JSON";
	if (!media_is_utf8(&inspection->media))
		return "the body is not UTF-8";
	inspection->json = json_read(inspection->body.content);
	return inspection->json ? NULL : "the body is not sound JSON";
}

json_t *inspection_json(struct inspection *inspection)
{
	if (inspection_first(inspection, INSPECT_JSON, 0))
		inspection_answered(inspection, INSPECT_JSON,
				    read_json(inspection));
	return inspection->json;
}

static const char *read_form(struct inspection *inspection)
{
	struct answer *answer = &inspection->answers[INSPECT_FORM];

	if (!inspection->is_typed ||
	    !bytes_is_nocase(inspection->media.value,
			     "application/x-www-form-urlencoded"))
		return "the body's type is not a form";
	if (!media_is_utf8(&inspection->media))
		return "the body is not UTF-8";
	return form_read(inspection->body.content, &answer->arena,
			 &answer->fields);
}

const struct fields *inspection_form(struct inspection *inspection)
{
	struct answer *answer = &inspection->answers[INSPECT_FORM];

	if (inspection_first(inspection, INSPECT_FORM,
			     form_arena_max(inspection->body.content.len)))
		inspection_answered(inspection, INSPECT_FORM,
				    read_form(inspection));
	return *answer->fault ? NULL : &answer->fields;
}

static const char *read_multipart(struct inspection *inspection)
{
	struct answer *answer = &inspection->answers[INSPECT_MULTIPART];

	if (!inspection->is_typed || !multipart_is(&inspection->media))
		return "the body's type is not multipart/form-data";
	return multipart_read(&inspection->media, inspection->body.content,
			      &answer->arena, &answer->fields,
			      &inspection->files);
}

const struct fields *inspection_multipart(struct inspection *inspection)
{
	struct answer *answer = &inspection->answers[INSPECT_MULTIPART];

	if (inspection_first(inspection, INSPECT_MULTIPART,
			     2 * INSPECT_FIELDS_MAX * sizeof(struct field)))
		inspection_answered(inspection, INSPECT_MULTIPART,
				    read_multipart(inspection));
	return *answer->fault ? NULL : &answer->fields;
}

const struct fields *inspection_files(struct inspection *inspection)
{
	return inspection_multipart(inspection) ? &inspection->files : NULL;
}
