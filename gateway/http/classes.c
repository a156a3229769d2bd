#include "gateway/http/classes.h"

#define VALUE  CLASS_VALUE
#define TARGET (CLASS_VALUE | CLASS_TARGET)
#define TOKEN  (TARGET | CLASS_TOKEN)
#define NAME   (TOKEN | CLASS_AUTHORITY)

const uint8_t http_classes[256] = {
	['\t'] = VALUE,
	[' '] = VALUE,
	['!'] = TOKEN,
	['"'] = TARGET,
	['#'] = VALUE | CLASS_TOKEN,
	['$'] = TOKEN,
	['%'] = TOKEN,
	['&'] = TOKEN,
	['\''] = TOKEN,
	['('] = TARGET,
	[')'] = TARGET,
	['*'] = TOKEN,
	['+'] = TOKEN,
	[','] = TARGET,
	['-'] = NAME,
	['.'] = NAME,
	['/'] = TARGET,
	['0' ... '9'] = NAME,
	[':'] = TARGET,
	[';'] = TARGET,
	['<'] = TARGET,
	['='] = TARGET,
	['>'] = TARGET,
	['?'] = TARGET,
	['@'] = TARGET,
	['A' ... 'Z'] = NAME,
	['['] = TARGET,
	['\\'] = VALUE,
	[']'] = TARGET,
	['^'] = TOKEN,
	['_'] = NAME,
	['`'] = TOKEN,
	['a' ... 'z'] = NAME,
	['{'] = TARGET,
	['|'] = TOKEN,
	['}'] = TARGET,
	['~'] = TOKEN,
	[0x80 ... 0xff] = VALUE,
};
