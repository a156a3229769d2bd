/*
 * What a sandbox of the service, and a command in it, are asked for with:
 * larger than a message, so each travels as a sealed memfd (common/wire.h).
 * Whoever takes one decodes it again; nobody believes a length.
 */
#ifndef SANDBOX_HOST_FLOW_SANDBOX_SPEC_H
#define SANDBOX_HOST_FLOW_SANDBOX_SPEC_H

#include "common/wire.h"

#define REQUEST_BYTES_MAX    (4 * 1024 * 1024)
#define REQUEST_NAME_MAX     63
#define REQUEST_PATH_MAX     4095
#define REQUEST_ARGS_MAX     4096
#define REQUEST_ARG_MAX	     (128 * 1024)
#define REQUEST_ENV_MAX	     1024
#define REQUEST_METADATA_MAX 32
#define REQUEST_KEY_MAX	     128
#define REQUEST_VALUE_MAX    256
#define REQUEST_NOTE_MAX     1024
#define REQUEST_VOLUMES_MAX  32
/* Of an entrypoint that is shown: the first ones, each cut. */
#define SHOWN_ARGS_MAX 16
#define SHOWN_ARG_MAX  128

struct text_item {
	struct bytes text;
};
struct text_pair {
	struct bytes name;
	struct bytes value;
};
extern const struct wire_schema metadata_schema; /* of a struct text_pair */
extern const struct wire_schema shown_schema;	 /* of a struct text_item */

/* A directory or file of the host's inside, below a root that host.yaml
 * allows. */
struct volume_request {
	struct bytes source;   /* on the host */
	struct bytes sub_path; /* below source; may be empty. No ".." */
	struct bytes below;    /* what that leads to: the same of that */
	struct bytes target;   /* inside; no ".." */
	bool is_read_only;
};

/* How its workspace is to be, where that is not the policy's to say. */
enum request_mode {
	REQUEST_MODE_POLICY,
	REQUEST_MODE_WRITE,
	REQUEST_MODE_OVERLAY,
	REQUEST_MODE_READ,
	REQUEST_MODE_MAX
};

/* A sandbox. Bytes are any but NUL. */
struct sandbox_request {
	struct bytes name;	   /* may be empty; need not be unique */
	struct bytes policy;	   /* text; empty: the host's default */
	struct bytes policy_path;  /* its file, to be protected; or empty */
	struct bytes repo, branch; /* of the session; may be empty */
	struct bytes workspace;	   /* a directory; empty: a new one, which
				      ends with the sandbox */
	struct bytes home;	   /* may be empty: none */
	struct bytes image;	   /* of host.yaml, by name: the root inside;
				      empty: the snapshot's, or the host's own */
	struct bytes snapshot; /* by its id: what it begins with; or empty */
	const struct volume_request *volumes;
	size_t volumes_count;
	const struct text_item *caller; /* "NAME=VALUE": of whoever asks; what
					   passes is the policy's business */
	size_t caller_count;
	const struct text_item *env; /* "NAME=VALUE": set inside */
	size_t env_count;
	const struct text_item *entrypoint; /* empty: it runs until it is
					       ended; else until that ends */
	size_t entrypoint_count;
	uint64_t expires_ms;   /* wall clock; 0: never */
	uint64_t memory_bytes; /* 0: as the policy says; else the smaller */
	uint64_t processes;
	uint64_t cpu_milli; /* thousandths of a core */
	const struct text_pair *metadata;
	size_t metadata_count;
	struct bytes note; /* kept for whoever asked, shown to nobody inside */
	/* It stands beside another one, in whose workspace it works
	 * (messages_isolated.h): the daemon's to say, nobody else's. */
	bool is_isolated;
	uint8_t mode;	 /* enum request_mode */
	bool is_offline; /* nothing leaves it */
};
extern const struct wire_schema sandbox_request_schema;

/* Whose a command is to be, where that was said. */
struct user_wish {
	bool has_uid, has_gid;
	uint32_t uid, gid;
};

/* A command in a sandbox that runs. */
struct exec_request {
	const struct text_item *argv; /* at least one */
	size_t argv_count;
	const struct text_item *env; /* "NAME=VALUE": beside the sandbox's */
	size_t env_count;
	struct bytes cwd;    /* inside; empty: where the image says, or the
				workspace */
	uint64_t timeout_ms; /* 0: none. Then its group is killed */
	bool has_terminal;   /* a pty for it; no MSG_EXEC_STDIO then */
	uint16_t rows, columns;
	bool is_detached; /* it outlives the channel */
	/* What `commands` of the policy judges in place of argv, where argv is
	 * words of ours around what somebody asked for; empty: argv. */
	const struct text_item *judged;
	size_t judged_count;
	struct user_wish user;
};
extern const struct wire_schema exec_request_schema;

/* Encode and seal. A descriptor, or -1. */
int sandbox_request_seal(const struct sandbox_request *request,
			 struct err *err);
int exec_request_seal(const struct exec_request *request, struct err *err);

/* What a request is for, without what is each sandbox's own: name, note,
 * metadata, entrypoint and end. Two that give the same bytes can have the same
 * sandbox. Appended to out: an encoded struct sandbox_request. 0, or -1. */
int sandbox_request_kind(const struct sandbox_request *request, struct buf *out,
			 struct err *err);

/* One that was taken from a descriptor, and the memory that it lives in. */
struct request_memory {
	struct bytes mapping;
	struct arena arena;
};
/* Map fd (untrusted; stays the caller's) and decode it: bounds, no NUL where
 * text ends up in a system call. 0, or -1 with *memory empty. */
int sandbox_request_open(int fd, struct request_memory *memory,
			 struct sandbox_request *request, struct err *err);
int exec_request_open(int fd, struct request_memory *memory,
		      struct exec_request *request, struct err *err);
void request_release(struct request_memory *memory);

#endif
