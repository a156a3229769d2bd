#include "common/entropy.h"

#include <math.h>

double entropy_bits(struct bytes text)
{
	size_t counts[256] = {0};
	double bits = 0;

	for (size_t i = 0; i < text.len; i++)
		counts[text.data[i]]++;
	for (size_t c = 0; c < 256; c++)
		if (counts[c] > 0)
			bits -= (double)counts[c] *
				log2((double)counts[c] / (double)text.len);
	return bits;
}
