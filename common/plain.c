#include "common/plain.h"

#include <stdbool.h>
#include <stdint.h>

void plain_text(char *text)
{
	for (uint8_t *at = (uint8_t *)text; *at; at++) {
		/* C1 controls in UTF-8: 0xc2 0x80 to 0xc2 0x9f. */
		bool is_c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;

		if (*at < ' ' || *at == 0x7f || is_c1)
			at[0] = '?';
		if (is_c1)
			at[1] = '?';
	}
}
