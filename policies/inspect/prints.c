#include "policies/inspect/prints.h"

#include <assert.h>
#include <stdlib.h>

#include "common/secret.h"
#include "policies/inspect/prints_parts.h"

struct secret_prints *prints_new(void)
{
	struct secret_prints *prints = calloc(1, sizeof(*prints));

	if (!prints)
		return NULL;
	random_bytes(prints->key, sizeof(prints->key));
	do {
		random_bytes(&prints->base, sizeof(prints->base));
		prints->base &= PRINTS_MODULUS;
	} while (prints->base < 256 || prints->base == PRINTS_MODULUS);
	return prints;
}

void prints_free(struct secret_prints *prints)
{
	if (prints && prints->keepers-- == 0)
		free(prints);
}

struct secret_prints *prints_keep(struct secret_prints *prints)
{
	if (prints)
		prints->keepers++;
	return prints;
}

static void add_form(struct secret_prints *prints, struct bytes form)
{
	struct print *print = &prints->prints[prints->count++];
	uint64_t hash = 0;

	for (size_t i = form.len - PRINTS_WINDOW; i < form.len; i++)
		hash = prints_add_byte(prints, hash, form.data[i]);
	print->mark = prints_mark(hash);
	print->len = (uint8_t)form.len;
	print->secret = (uint8_t)prints->secrets;
	digest_sha256(bytes_from(prints->key, sizeof(prints->key)), form,
		      print->digest);
	prints_set_mark(prints, print->mark);
}

int prints_add(struct secret_prints *prints, struct bytes name,
	       struct bytes secret, struct err *err)
{
	struct prints_forms forms;
	size_t before;

	if (name.len == 0 || name.len > PRINTS_NAME_MAX ||
	    bytes_find(name, 0, 0) >= 0)
		return err_set(err, ERR_INVALID, "print secret: bad name");
	if (prints->secrets == PRINTS_SECRETS_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "print secret: there are too many");
	if (secret.len < PRINTS_SECRET_MIN)
		return 0;
	/* The start of a long one may be that of others, as a key's is. */
	before = secret.len > PRINTS_CORE_MAX
			 ? (secret.len - PRINTS_CORE_MAX) / 2
			 : 0;
	prints_forms_make(bytes_slice(secret, before, before + PRINTS_CORE_MAX),
			  &forms);
	for (size_t i = 0; i < forms.count; i++)
		add_form(prints,
			 bytes_from(forms.items[i].text, forms.items[i].len));
	secret_wipe(&forms, sizeof(forms));
	memcpy(prints->names[prints->secrets], name.data, name.len);
	prints->secrets++;
	return 0;
}

static int put_number(struct buf *out, uint64_t value, unsigned bytes)
{
	int rc = 0;

	while (bytes-- > 0)
		rc |= buf_add_byte(out, (uint8_t)(value >> 8 * bytes));
	return rc;
}

int prints_write(const struct secret_prints *prints, struct buf *out)
{
	int rc = put_number(out, PRINTS_FORMAT, 1);

	rc |= put_number(out, prints->base, 8);
	rc |= buf_add(out, bytes_from(prints->key, sizeof(prints->key)));
	rc |= put_number(out, prints->secrets, 1);
	for (size_t i = 0; i < prints->secrets; i++) {
		struct bytes name = bytes_str(prints->names[i]);

		rc |= put_number(out, name.len, 1);
		rc |= buf_add(out, name);
	}
	rc |= put_number(out, prints->count, 2);
	for (size_t i = 0; i < prints->count; i++) {
		const struct print *print = &prints->prints[i];

		rc |= put_number(out, print->mark, 2);
		rc |= put_number(out, print->len, 1);
		rc |= put_number(out, print->secret, 1);
		rc |= buf_add(out, bytes_from(print->digest, DIGEST_LEN));
	}
	return rc ? -1 : 0;
}

/* Past the end: 0, and *is_bad. */
struct reader {
	struct bytes rest;
	bool is_bad;
};

static struct bytes take(struct reader *reader, size_t len)
{
	struct bytes taken = bytes_slice(reader->rest, 0, len);

	reader->is_bad |= taken.len < len;
	reader->rest = bytes_slice(reader->rest, len, reader->rest.len);
	return taken;
}

static uint64_t take_number(struct reader *reader, unsigned len)
{
	struct bytes taken = take(reader, len);
	uint64_t value = 0;

	for (size_t i = 0; i < taken.len; i++)
		value = value << 8 | taken.data[i];
	return value;
}

static void take_name(struct reader *reader, struct secret_prints *prints)
{
	size_t len = (size_t)take_number(reader, 1);
	struct bytes name = take(reader, len);

	if (len == 0 || len > PRINTS_NAME_MAX || bytes_find(name, 0, 0) >= 0)
		reader->is_bad = true;
	else if (!reader->is_bad)
		memcpy(prints->names[prints->secrets++], name.data, name.len);
}

static void take_print(struct reader *reader, struct secret_prints *prints)
{
	struct print *print = &prints->prints[prints->count];
	struct bytes digest;

	print->mark = (uint16_t)take_number(reader, 2);
	print->len = (uint8_t)take_number(reader, 1);
	print->secret = (uint8_t)take_number(reader, 1);
	digest = take(reader, DIGEST_LEN);
	if (print->len < PRINTS_WINDOW || print->len > PRINTS_FORM_MAX ||
	    print->secret >= prints->secrets)
		reader->is_bad = true;
	if (reader->is_bad)
		return;
	memcpy(print->digest, digest.data, DIGEST_LEN);
	prints_set_mark(prints, print->mark);
	prints->count++;
}

static void take_all(struct reader *reader, struct secret_prints *prints)
{
	struct bytes key;
	size_t count;

	reader->is_bad = take_number(reader, 1) != PRINTS_FORMAT;
	prints->base = take_number(reader, 8);
	reader->is_bad |= prints->base < 256 || prints->base >= PRINTS_MODULUS;
	key = take(reader, sizeof(prints->key));
	if (!reader->is_bad)
		memcpy(prints->key, key.data, key.len);
	count = (size_t)take_number(reader, 1);
	reader->is_bad |= count > PRINTS_SECRETS_MAX;
	for (size_t i = 0; i < count && !reader->is_bad; i++)
		take_name(reader, prints);
	count = (size_t)take_number(reader, 2);
	reader->is_bad |= count > PRINTS_SECRETS_MAX * PRINTS_FORMS_MAX;
	for (size_t i = 0; i < count && !reader->is_bad; i++)
		take_print(reader, prints);
	reader->is_bad |= reader->rest.len > 0;
}

struct secret_prints *prints_read(struct bytes bytes, struct err *err)
{
	struct secret_prints *prints = calloc(1, sizeof(*prints));
	struct reader reader = {.rest = bytes};

	if (!prints) {
		err_set(err, ERR_LIBRARY, "read prints: memory is out");
		return NULL;
	}
	take_all(&reader, prints);
	if (!reader.is_bad)
		return prints;
	err_set(err, ERR_INVALID, "read prints: they are damaged");
	prints_free(prints);
	return NULL;
}
