#include <arpa/inet.h>
#include <getopt.h>

#include "sandbox-host/signer/signer.h"

bool signer_call_read(int argc, char **argv, struct signer_call *call)
{
	const char *verb = "", *space = "";
	int option;

	*call = (struct signer_call){0};
	opterr = 0;
	optind = 1;
	while ((option = getopt(argc, argv, "Y:n:f:U")) != -1) {
		if (option == 'Y')
			verb = optarg;
		else if (option == 'n')
			space = optarg;
		else if (option == 'f')
			call->key = optarg;
		else if (option != 'U')
			return false;
	}
	if (argc - optind != 1)
		return false;
	call->file = argv[optind];
	return call->key && !strcmp(verb, "sign") && !strcmp(space, "git");
}

/* Type and key, as they stand in the first line. */
static struct bytes key_of(struct bytes text)
{
	struct bytes line, rest, word;
	size_t len;

	(void)bytes_split(&text, '\n', &line);
	rest = line;
	(void)bytes_split(&rest, ' ', &word);
	len = word.len + 1;
	(void)bytes_split(&rest, ' ', &word);
	return word.len > 0 ? bytes_slice(line, 0, len + word.len)
			    : bytes_from(NULL, 0);
}

bool signer_is_key(struct bytes one, struct bytes two)
{
	struct bytes key = key_of(one);

	return key.len > 0 && bytes_equal(key, key_of(two));
}

void signer_proxy_read(const char *url, struct sockaddr_in *address)
{
	static const struct bytes scheme = BYTES_LITERAL("http://");
	struct bytes rest = bytes_str(url), host;
	char text[INET_ADDRSTRLEN];
	struct in_addr numeric;
	uint64_t port;

	if (!bytes_starts_with(rest, scheme))
		return;
	rest = bytes_slice(rest, scheme.len, rest.len);
	if (bytes_ends_with(rest, bytes_str("/")))
		rest = bytes_slice(rest, 0, rest.len - 1);
	if (!bytes_split(&rest, ':', &host) || host.len >= sizeof(text) ||
	    bytes_to_u64(rest, 5, &port) < 0 || port == 0 || port > 65535)
		return;
	memcpy(text, host.data, host.len);
	text[host.len] = '\0';
	if (inet_pton(AF_INET, text, &numeric) != 1)
		return;
	address->sin_addr = numeric;
	address->sin_port = htons((uint16_t)port);
}
