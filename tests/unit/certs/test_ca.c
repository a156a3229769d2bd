#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/x509v3.h>

#include "certs/ca.h"
#include "common/cleanup.h"

#define NOW_MS 1795289000000ull /* 2026-11-21 */
#define DAY_MS (24ull * 3600 * 1000)

struct place {
	char path[64];
	int fd;
};

static void place_make(struct place *place)
{
	(void)snprintf(place->path, sizeof(place->path),
		       "/tmp/sallyport-ca-XXXXXX");
	assert_non_null(mkdtemp(place->path));
	place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(place->fd >= 0);
}

static void place_remove(struct place *place)
{
	(void)unlinkat(place->fd, "ca.key", 0);
	(void)unlinkat(place->fd, "ca.pem", 0);
	assert_int_equal(close(place->fd), 0);
	assert_int_equal(rmdir(place->path), 0);
}

static void open_well(const struct place *place, struct ca *ca)
{
	struct err err = {0};

	if (ca_open(place->fd, NOW_MS, ca, &err))
		fail_msg("%s", err.text);
}

static void ca_is_made_once_and_loaded_after_that(void **state)
{
	struct place place;
	struct ca first, second;
	struct stat status;

	(void)state;
	place_make(&place);
	open_well(&place, &first);
	open_well(&place, &second);
	assert_true(bytes_equal(ca_der(&first), ca_der(&second)));
	assert_int_equal(EVP_PKEY_eq(first.key, second.key), 1);
	assert_int_equal(fstatat(place.fd, "ca.key", &status, 0), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	ca_release(&first);
	ca_release(&second);
	place_remove(&place);
}

static void ca_may_sign_leaves_and_nothing_else(void **state)
{
	struct ca ca;

	(void)state;
	assert_int_equal(ca_make(NOW_MS, &ca, NULL), 0);
	assert_int_equal(X509_check_ca(ca.cert), 1);
	assert_int_equal(X509_get_pathlen(ca.cert), 0);
	assert_int_equal(X509_get_key_usage(ca.cert), KU_KEY_CERT_SIGN);
	assert_int_equal(X509_get_version(ca.cert), X509_VERSION_3);
	assert_non_null(X509_get0_subject_key_id(ca.cert));
	assert_int_equal(
		X509_get_ext_by_NID(ca.cert, NID_authority_key_identifier, -1),
		-1);
	assert_int_equal(X509_verify(ca.cert, ca.key), 1);
	ca_release(&ca);
}

static void two_cas_differ_in_name_and_key(void **state)
{
	struct ca a, b;

	(void)state;
	assert_int_equal(ca_make(NOW_MS, &a, NULL), 0);
	assert_int_equal(ca_make(NOW_MS, &b, NULL), 0);
	assert_int_not_equal(X509_NAME_cmp(X509_get_subject_name(a.cert),
					   X509_get_subject_name(b.cert)),
			     0);
	assert_int_equal(EVP_PKEY_eq(a.key, b.key), 0);
	ca_release(&a);
	ca_release(&b);
}

static void ca_key_without_certificate_gets_one(void **state)
{
	struct place place;
	struct ca first, second;

	(void)state;
	place_make(&place);
	open_well(&place, &first);
	assert_int_equal(unlinkat(place.fd, "ca.pem", 0), 0);
	open_well(&place, &second);
	assert_int_equal(EVP_PKEY_eq(first.key, second.key), 1);
	ca_release(&first);
	ca_release(&second);
	place_remove(&place);
}

/* Each row breaks a good directory; without it the CA opens. */
static void remove_key(const struct place *place)
{
	assert_int_equal(unlinkat(place->fd, "ca.key", 0), 0);
}

static void open_key_to_group(const struct place *place)
{
	assert_int_equal(fchmodat(place->fd, "ca.key", 0640, 0), 0);
}

static void replace_key(const struct place *place)
{
	struct place other;
	struct ca ca;

	place_make(&other);
	open_well(&other, &ca);
	assert_int_equal(renameat(other.fd, "ca.key", place->fd, "ca.key"), 0);
	ca_release(&ca);
	place_remove(&other);
}

static void link_key(const struct place *place)
{
	assert_int_equal(renameat(place->fd, "ca.key", place->fd, "x"), 0);
	assert_int_equal(symlinkat("x", place->fd, "ca.key"), 0);
}

static void empty_key(const struct place *place)
{
	auto_fd int fd =
		openat(place->fd, "ca.key", O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
}

static void garble_certificate(const struct place *place)
{
	auto_fd int fd =
		openat(place->fd, "ca.pem", O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_int_equal(write(fd, "nothing", 7), 7);
}

static void leave_it(const struct place *place)
{
	(void)place;
}

static void ca_directory_that_was_tampered_with_is_refused(void **state)
{
	static const struct {
		void (*tamper)(const struct place *place);
		uint64_t now_ms;
		const char *words; /* NULL: it opens */
	} rows[] = {
		{leave_it, NOW_MS, NULL},
		{leave_it, NOW_MS + 3649 * DAY_MS, NULL},
		{leave_it, NOW_MS + 3651 * DAY_MS, "expired"},
		{leave_it, NOW_MS - 2 * DAY_MS, "clock"},
		{remove_key, NOW_MS, "without ca.key"},
		{open_key_to_group, NOW_MS, "open to others: mode 640"},
		{replace_key, NOW_MS, "is not of"},
		{link_key, NOW_MS, "open ca.key"},
		{empty_key, NOW_MS, "ca.key"},
		{garble_certificate, NOW_MS, "ca.pem"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct place place;
		struct ca ca;
		struct err err = {0};
		int result;

		place_make(&place);
		open_well(&place, &ca);
		ca_release(&ca);
		rows[i].tamper(&place);
		result = ca_open(place.fd, rows[i].now_ms, &ca, &err);
		if (result != (rows[i].words ? -1 : 0))
			fail_msg("row %zu: %d, %s", i, result, err.text);
		if (rows[i].words && !strstr(err.text, rows[i].words))
			fail_msg("row %zu: %s", i, err.text);
		ca_release(&ca);
		(void)unlinkat(place.fd, "x", 0);
		place_remove(&place);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ca_is_made_once_and_loaded_after_that),
		cmocka_unit_test(ca_may_sign_leaves_and_nothing_else),
		cmocka_unit_test(two_cas_differ_in_name_and_key),
		cmocka_unit_test(ca_key_without_certificate_gets_one),
		cmocka_unit_test(
			ca_directory_that_was_tampered_with_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
