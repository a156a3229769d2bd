#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "gateway/warden/warden.h"

/* A record of the warden's own, as it waits for a ledger. */
struct warden_note {
	uint64_t time_ms;
	uint8_t kind;
	char session[SESSION_ID_MAX + 1];
	char detail[96];
	enum role role; /* it is about */
};

static struct {
	struct warden_note notes[WARDEN_RECORDS_MAX];
	size_t count;
} waiting;

static int tell(struct warden *warden, const struct warden_note *note)
{
	const struct record record = {
		.time_ms = note->time_ms,
		.kind = note->kind,
		.allowed = true,
		.session = bytes_str(note->session),
		.host = bytes_str(role_name(note->role)),
		.detail = bytes_str(note->detail),
	};
	const struct msg_records message = {&record, 1};
	struct err err;

	if (!warden->ledger)
		return -1;
	if (rpc_tell(warden->ledger, MSG_RECORDS, &msg_records_schema, &message,
		     -1, &err) == 0)
		return 0;
	log_warn("a record waits: %s", err.text);
	return -1;
}

void warden_record(struct warden *warden, enum record_kind kind,
		   const struct child *child, const char *detail)
{
	struct warden_note note = {
		.time_ms = clock_wall_ms(),
		.kind = (uint8_t)kind,
		.role = child ? child->role : ROLE_WARDEN,
	};

	(void)snprintf(note.session, sizeof(note.session), "%s",
		       child && child->session ? child->session->id : "");
	(void)snprintf(note.detail, sizeof(note.detail), "%s", detail);
	warden_records_flush(warden);
	if (waiting.count == 0 && tell(warden, &note) == 0)
		return;
	if (waiting.count < WARDEN_RECORDS_MAX)
		waiting.notes[waiting.count++] = note;
	else
		log_error("a record is lost: %s %s", role_name(note.role),
			  detail);
}

void warden_records_flush(struct warden *warden)
{
	size_t told = 0;

	while (told < waiting.count && tell(warden, &waiting.notes[told]) == 0)
		told++;
	waiting.count -= told;
	memmove(waiting.notes, waiting.notes + told,
		waiting.count * sizeof(waiting.notes[0]));
}
