#include "common/entropy.h"

#include <math.h>

/* 2 / ln(2) */
#define TWO_BY_LN2 2.885390081777926815
#define SQRT_HALF  0.70710678118654752440
#define TERMS	   12 /* the next one is below 2e-20 */

/* Of 0 < x <= 1: x is m times 2^e, m between sqrt(1/2) and sqrt(2), and with
 * t = (m - 1) / (m + 1) ln(m) is 2 (t + t^3/3 + t^5/5 + ...), |t| < 0.172. */
static double binary_log(double x)
{
	double m, t, square, sum = 0;
	int e;

	m = frexp(x, &e); /* of libc itself */
	if (m < SQRT_HALF) {
		m *= 2;
		e--;
	}
	t = (m - 1) / (m + 1);
	square = t * t;
	for (int i = TERMS - 1; i >= 0; i--)
		sum = sum * square + 1.0 / (2 * i + 1);
	return e + TWO_BY_LN2 * t * sum;
}

double entropy_bits(struct bytes text)
{
	size_t counts[256] = {0};
	double bits = 0;

	for (size_t i = 0; i < text.len; i++)
		counts[text.data[i]]++;
	for (size_t c = 0; c < 256; c++)
		if (counts[c] > 0)
			bits -= (double)counts[c] *
				binary_log((double)counts[c] /
					   (double)text.len);
	return bits;
}
