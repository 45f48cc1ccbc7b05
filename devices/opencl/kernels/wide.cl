/* SPDX-License-Identifier: Apache-2.0 */
/* The number type of sums. With FP64 it is a double. Devices without double precision use the exact
 * sum of two floats, the second at most half of the first's last digit, with Knuth's and Dekker's
 * error-free sums and products (T. Dekker, "A floating-point technique for extending the available
 * precision", Numerische Mathematik 18, 1971). Pairs have 48 bits, and the range of a float. A
 * double in memory that the host reads or writes is a STORED. */
#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef double wide;
typedef double stored;

wide wide_of(float x) { return x; }
float to_float(wide a) { return (float)a; }
wide plus(wide a, wide b) { return a + b; }
wide plus_product(wide a, float x, float y) { return a + (double)x * y; }
wide times(wide a, wide b) { return a * b; }
wide difference(float a, float b) { return (double)a - b; }
wide over_count(wide a, ulong n) { return a / n; }
wide inverse_root(wide a) { return 1 / sqrt(a); }
wide exp_of(wide a) { return exp(a); }
wide log_of(wide a) { return log(a); }
wide log1p_of(wide a) { return log1p(a); }
float quotient(wide a, wide b) { return (float)(a / b); }
/* a / b, or a / b - 1 with `less_one`. */
float share_of(wide a, wide b, bool less_one) { return (float)(a / b - (less_one ? 1 : 0)); }
wide load_stored(__global const stored *x) { return *x; }
void store_wide(wide a, __global stored *x) { *x = a; }

#else
/* Contracting a multiplication with an addition would break error-free sums. */
#pragma OPENCL FP_CONTRACT OFF

typedef float2 wide;
typedef ulong stored; /* The bits of a double. */

wide wide_of(float x) { return (float2)(x, 0); }
float to_float(wide a) { return a.x; }

/* Requires |a| >= |b|. */
wide quick_sum(float a, float b) {
  const float sum = a + b;
  return (float2)(sum, b - (sum - a));
}

wide two_sum(float a, float b) {
  const float sum = a + b;
  const float of_b = sum - a;
  return (float2)(sum, (a - (sum - of_b)) + (b - of_b));
}

wide two_product(float a, float b) {
  const float product = a * b;
  return (float2)(product, fma(a, b, -product));
}

wide plus(wide a, wide b) {
  wide sum = two_sum(a.x, b.x);
  const wide rest = two_sum(a.y, b.y);
  sum = quick_sum(sum.x, sum.y + rest.x);
  return quick_sum(sum.x, sum.y + rest.y);
}

wide plus_product(wide a, float x, float y) { return plus(a, two_product(x, y)); }

wide times(wide a, wide b) {
  const wide product = two_product(a.x, b.x);
  return quick_sum(product.x, product.y + (a.x * b.y + a.y * b.x));
}

wide difference(float a, float b) { return two_sum(a, -b); }

wide over_count(wide a, ulong n) {
  const float count = (float)n;
  const float first = a.x / count;
  const wide back = two_product(first, count);
  /* `count` may be rounded; n - count is the rounding error. */
  const float lost = n >= (ulong)count ? (float)(n - (ulong)count) : -(float)((ulong)count - n);
  const wide rest = plus(a, (float2)(-back.x, -back.y));
  return quick_sum(first, (rest.x - first * lost) / count);
}

/* The value to a float's precision. */
wide inverse_root(wide a) { return wide_of(1 / sqrt(a.x)); }

/* exp(a) = 2^k exp(r), |r| <= ln(2) / 2. The first coefficients of its series are exact. */
wide exp_of(wide a) {
  if (!(a.x > -104)) return wide_of(a.x < 0 ? 0 : a.x); /* NaN stays. */
  if (a.x > 88) return wide_of(exp(a.x));
  const float k = rint(a.x * 1.44269504f);
  wide r = plus(a, two_product(-k, 0.693147182f));
  r = plus(r, two_product(-k, -1.90465421e-9f));
  const float x = r.x;
  const float tail =
      4.16666679e-2f +
      x * (8.33333377e-3f +
           x * (1.38888892e-3f + x * (1.98412701e-4f + x * (2.48015876e-5f + x * 2.75573188e-6f))));
  wide sum = plus((float2)(0.166666672f, -4.96705310e-9f), times(r, wide_of(tail)));
  sum = plus(wide_of(0.5f), times(r, sum));
  sum = plus(wide_of(1), times(r, sum));
  sum = plus(wide_of(1), times(r, sum));
  return (float2)(ldexp(sum.x, (int)k), ldexp(sum.y, (int)k));
}

/* A step of Newton's method, starting from the float logarithm. */
wide log_of(wide a) {
  const float first = log(a.x);
  if (!(fabs(first) < 88)) return wide_of(first);
  return plus(wide_of(first), plus(times(a, exp_of(wide_of(-first))), wide_of(-1)));
}

wide log1p_of(wide a) {
  const float first = log1p(a.x);
  if (!(first > 1e-4f)) return wide_of(first);
  const wide back = times(plus(wide_of(1), a), exp_of(wide_of(-first)));
  return plus(wide_of(first), plus(back, wide_of(-1)));
}

float quotient(wide a, wide b) { return a.x / b.x; }
float share_of(wide a, wide b, bool less_one) { return a.x / b.x - (less_one ? 1 : 0); }

/* 53 bits: 24 from the first float, and 29 below them from the second. */
void store_wide(wide a, __global stored *x) {
  const ulong sign = as_uint(a.x) >> 31;
  if (!isfinite(a.x)) {
    *x = (sign << 63) | 0x7ff0000000000000ul | (isnan(a.x) ? 0x0008000000000000ul : 0);
    return;
  }
  if (a.x == 0) {
    *x = sign << 63;
    return;
  }
  int exponent = 0;
  const float fraction = frexp(fabs(a.x), &exponent);
  const long below = (long)rint(ldexp(sign != 0 ? -a.y : a.y, 53 - exponent));
  ulong digits = ((ulong)ldexp(fraction, 24) << 29) + (ulong)below;
  if ((digits >> 52) == 0) { /* The second one took some off a power of two. */
    digits <<= 1;
    --exponent;
  }
  *x = (sign << 63) | ((ulong)(exponent + 1022) << 52) | (digits & 0x000ffffffffffffful);
}

wide load_stored(__global const stored *x) {
  const ulong bits = *x;
  const int exponent = (int)((bits >> 52) & 0x7ff);
  const bool negative = (bits >> 63) != 0;
  if (exponent == 0) return wide_of(0);
  if (exponent == 0x7ff) return wide_of((bits << 12) != 0 ? NAN : negative ? -INFINITY : INFINITY);
  const ulong digits = (bits & 0x000ffffffffffffful) | 0x0010000000000000ul;
  const float first = ldexp((float)(digits >> 29), exponent - 1023 - 23);
  const float second = ldexp((float)(digits & 0x1ffffffful), exponent - 1023 - 52);
  return negative ? quick_sum(-first, -second) : quick_sum(first, second);
}
#endif
