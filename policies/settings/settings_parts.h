/*
 * A translation under way. Private to settings*.c.
 */
#ifndef POLICIES_SETTINGS_SETTINGS_PARTS_H
#define POLICIES_SETTINGS_SETTINGS_PARTS_H

#include <jansson.h>

#include "common/arena.h"
#include "policies/settings/settings.h"

#define SETTINGS_CREDENTIALS_MAX 16

struct settings {
	const struct settings_facts *facts;
	struct arena arena;
	struct buf *policy;
	struct buf *notes;
	bool is_wrong;	  /* an error was told */
	bool has_no_room; /* of a buffer or of memory */
	const json_t *network, *filesystem, *credentials; /* objects or NULL */
	const json_t *quiet;				  /* ignoreViolations */
};

/* A key of an object and what is to be said of it. */
struct settings_key {
	const char *name;
	json_type type; /* JSON_TRUE: a boolean */
	bool is_required;
	const char *refusal; /* an error when it is set; NULL: none */
	const char *note;    /* a note when it is set; NULL: none */
};

/* "file: where: text". */
void settings_error(struct settings *settings, const char *where,
		    const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void settings_note(struct settings *settings, const char *where,
		   const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Check all keys of an object called where ("" the whole). */
void settings_check(struct settings *settings, const json_t *object,
		    const char *where, const struct settings_key *keys,
		    size_t count);
/* The same of every item of a list of objects. */
void settings_check_items(struct settings *settings, const json_t *list,
			  const char *where, const struct settings_key *keys,
			  size_t count);

/* Add to the policy's text. */
void settings_add(struct settings *settings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A string in quotes; one that has a control character in it is an error. */
void settings_add_quoted(struct settings *settings, struct bytes text);

/* A list of strings: the i-th; a string that is none is empty. */
struct bytes settings_string(const json_t *list, size_t i);

/* The sections. Those of network and credentials belong together: masked
 * variables are credentials of rules. */
void settings_network(struct settings *settings);
void settings_credentials(struct settings *settings);
void settings_filesystem(struct settings *settings);
void settings_environment(struct settings *settings);
void settings_quiet(struct settings *settings);

/* settings_credentials.c: is the variable denied or masked? */
bool settings_hides_variable(const struct settings *settings, const char *name);
/* The rules for masked variables, before all others that allow. */
void settings_mask_rules(struct settings *settings);

/* settings_domains.c: "*.example.com:8443". */
struct settings_domain {
	struct bytes host; /* as a policy has it; without brackets */
	uint16_t port;	   /* 0: any */
	bool is_address;
};
bool settings_domain_read(struct bytes text, struct settings_domain *domain);

#endif
