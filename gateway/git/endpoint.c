#include "gateway/git/endpoint.h"

#include "common/cleanup.h"

static const struct endpoint_strings {
	const char *service;
	const char *answer;
	const char *request;
} strings[GIT_ENDPOINT_MAX] = {
	[GIT_ADVERTISE_READ] = {"git-upload-pack",
				"application/x-git-upload-pack-advertisement",
				NULL},
	[GIT_ADVERTISE_WRITE] = {"git-receive-pack",
				 "application/x-git-receive-pack-advertisement",
				 NULL},
	[GIT_UPLOAD_PACK] = {"git-upload-pack",
			     "application/x-git-upload-pack-result",
			     "application/x-git-upload-pack-request"},
	[GIT_RECEIVE_PACK] = {"git-receive-pack",
			      "application/x-git-receive-pack-result",
			      "application/x-git-receive-pack-request"},
};

static const struct endpoint_strings *of(enum git_endpoint endpoint)
{
	return &strings[endpoint < GIT_ENDPOINT_MAX ? endpoint : GIT_NONE];
}

const char *git_service_name(enum git_endpoint endpoint)
{
	return of(endpoint)->service;
}

const char *git_answer_type(enum git_endpoint endpoint)
{
	return of(endpoint)->answer;
}

const char *git_request_type(enum git_endpoint endpoint)
{
	return of(endpoint)->request;
}

int git_protocol_version(struct bytes value)
{
	static const char *const versions[] = {"version=0", "version=1",
					       "version=2"};

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (bytes_is(value, versions[i]))
			return (int)i;
	return -1;
}
