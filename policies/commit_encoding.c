#include "policies/commit_encoding.h"

#include <string.h>

#include "common/cleanup.h"

#define ENCODING_MAX 64

static bool is_word(struct bytes word)
{
	if (word.len == 0 || word.len > ENCODING_MAX)
		return false;
	for (size_t i = 0; i < word.len; i++) {
		uint8_t c = word.data[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= 'a' && c <= 'z') && !(c && strchr("-._:", c)))
			return false;
	}
	return true;
}

bool commit_encoding_is_plain(struct bytes name)
{
	static const char *const begins[] = {
		"utf-8",    "utf8",    "us-ascii",    "ascii",	"iso-8859-",
		"iso8859-", "latin",   "windows-125", "cp125",	"koi8-",
		"euc-",	    "gb18030", "gbk",	      "gb2312", "big5",
	};

	if (!is_word(name))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (bytes_is_nocase(bytes_slice(name, 0, strlen(begins[i])),
				    begins[i]))
			return true;
	return false;
}
