/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that all kernels share. An operand is two arguments, its buffer and the index of its
 * first element, because OpenCL 1.2 has no host pointers into buffers. GROUP: items in a group. */

#define KERNEL __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
#define FLOATS(name) __global float *name, ulong name##_at
#define INPUT(name) __global const float *name, ulong name##_at
#define WIDES(name) __global wide *name, ulong name##_at
#define STORED(name) __global stored *name, ulong name##_at

/* i / size and the remainder. Uses 32 bits if they suffice, because devices have no 64-bit division
 * and need a hundred instructions for one. */
ulong whole_parts(ulong i, ulong size) {
  return ((i | size) >> 32) == 0 ? (uint)i / (uint)size : i / size;
}
ulong rest_of(ulong i, ulong size) {
  return ((i | size) >> 32) == 0 ? (uint)i % (uint)size : i % size;
}
/* Removes the last of the indices combined in `i` and returns it; it has `size` values. */
ulong take_last(ulong *i, ulong size) {
  const ulong whole = whole_parts(*i, size);
  const ulong last = *i - whole * size;
  *i = whole;
  return last;
}

/* The sum of the group's values, for each of its items. `share` may be reused at once. */
wide group_sum(wide value, __local wide *share) {
  const size_t item = get_local_id(0);
  share[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t half_of = GROUP / 2; half_of > 0; half_of /= 2) {
    if (item < half_of) share[item] = plus(share[item], share[item + half_of]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const wide sum = share[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}

float group_max(float value, __local float *share) {
  const size_t item = get_local_id(0);
  share[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t half_of = GROUP / 2; half_of > 0; half_of /= 2) {
    if (item < half_of) share[item] = fmax(share[item], share[item + half_of]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float largest = share[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return largest;
}

/* *out = (add ? *out : 0) + the sum of `count` partial sums; one group. */
KERNEL finish_sum(ulong count, WIDES(partial), int add, STORED(out)) {
  __local wide share[GROUP];
  wide sum = wide_of(0);
  for (ulong i = get_local_id(0); i < count; i += GROUP) sum = plus(sum, partial[partial_at + i]);
  sum = group_sum(sum, share);
  if (get_local_id(0) == 0) {
    if (add) sum = plus(load_stored(out + out_at), sum);
    store_wide(sum, out + out_at);
  }
}
