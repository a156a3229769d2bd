#include <stdio.h>

#include "common/buf.h"

int main(void)
{
	struct buf out;
	struct bytes text;

	buf_init(&out, 64);
	if (buf_add_str(&out, "built ") < 0 ||
	    buf_add_str(&out, "inside\n") < 0)
		return 1;
	text = buf_view(&out);
	(void)fwrite(text.data, 1, text.len, stdout);
	buf_release(&out);
	return 0;
}
