/* SPDX-License-Identifier: Apache-2.0 */
/* What all kernels share. An operand is two arguments: its buffer, and its first element's index
 * there, because OpenCL 1.2 has no pointers into buffers on the host. GROUP: items of a group. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define KERNEL __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
#define FLOATS(name) __global float *name, ulong name##_at
#define INPUT(name) __global const float *name, ulong name##_at
#define DOUBLES(name) __global double *name, ulong name##_at

/* The sum of the group's values, for each of its items. `share` may be used again at once. */
double group_sum(double value, __local double *share) {
  const size_t item = get_local_id(0);
  share[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t half_of = GROUP / 2; half_of > 0; half_of /= 2) {
    if (item < half_of) share[item] += share[item + half_of];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const double sum = share[0];
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
KERNEL finish_sum(ulong count, DOUBLES(partial), int add, DOUBLES(out)) {
  __local double share[GROUP];
  double sum = 0;
  for (ulong i = get_local_id(0); i < count; i += GROUP) sum += partial[partial_at + i];
  sum = group_sum(sum, share);
  if (get_local_id(0) == 0) out[out_at] = (add ? out[out_at] : 0) + sum;
}
