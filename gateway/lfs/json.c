#include "gateway/lfs/json.h"

json_t *lfs_json_parse(struct bytes text, struct err *err)
{
	json_error_t error;
	json_t *root = json_loadb((const char *)text.data, text.len,
				  JSON_REJECT_DUPLICATES, &error);

	if (!root) {
		(void)err_set(err, ERR_INVALID, "no JSON: %s", error.text);
		return NULL;
	}
	if (json_is_object(root))
		return root;
	json_decref(root);
	(void)err_set(err, ERR_INVALID, "no JSON object");
	return NULL;
}

static int add(const char *text, size_t len, void *out)
{
	return buf_add(out, bytes_from(text, len));
}

int lfs_json_write(json_t *json, struct buf *out)
{
	int result =
		json ? json_dump_callback(json, add, out, JSON_COMPACT) : -1;

	json_decref(json);
	return result;
}

struct bytes lfs_json_text(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return bytes_from(json_string_value(value), json_string_length(value));
}

static bool is_oid(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
	}
	return text.len == LFS_OID_LEN;
}

int lfs_json_object(const json_t *json, struct lfs_object *object,
		    struct err *err)
{
	const json_t *size = json_object_get(json, "size");
	struct bytes oid = lfs_json_text(json, "oid");

	if (!is_oid(oid))
		return err_set(err, ERR_INVALID,
			       "an oid is 64 hex digits in lower case");
	if (!json_is_integer(size) || json_integer_value(size) < 0)
		return err_set(err, ERR_INVALID, "a size is a number of bytes");
	memcpy(object->oid, oid.data, oid.len);
	object->oid[LFS_OID_LEN] = '\0';
	object->size = (uint64_t)json_integer_value(size);
	return 0;
}

json_t *lfs_json_string(struct bytes text)
{
	return json_stringn(text.len ? (const char *)text.data : "", text.len);
}
