/* SPDX-License-Identifier: Apache-2.0 */
/* Losses, sums of squares and sketches; a partial sum per group, which finish_sum adds up. Arithmetic is
 * double: values are few, or the memory is slower. */

/* A tile of values stays in the caches of a processor, where a group's items take turns. */
#define TILE (32 * GROUP)

KERNEL square_sums(ulong count, INPUT(x), DOUBLES(partial)) {
  __local double share[GROUP];
  double sum = 0;
  const ulong step = (ulong)get_num_groups(0) * TILE;
  for (ulong begin = (ulong)get_group_id(0) * TILE; begin < count; begin += step) {
    const ulong end = min(begin + TILE, count);
    for (ulong i = begin + get_local_id(0); i < end; i += GROUP) {
      const double value = x[x_at + i];
      sum += value * value;
    }
  }
  sum = group_sum(sum, share);
  if (get_local_id(0) == 0) partial[partial_at + get_group_id(0)] = sum;
}

/* As base/signs.h has it. */
uint sign_word(uint first, uint second, uint number) {
  uint word = number ^ first;
  word = (word ^ (word >> 16)) * 0x21f0aaadu;
  word = (word ^ (word >> 15)) * 0x735a2d97u;
  word = (word ^ (word >> 15)) + second;
  word = (word ^ (word >> 16)) * 0x21f0aaadu;
  word = (word ^ (word >> 15)) * 0x735a2d97u;
  return word ^ (word >> 15);
}

#define SIGN_LANES 16
#define SIGN_ROWS 32
#define SIGN_BLOCK (SIGN_LANES * SIGN_ROWS)

/* An item has a word of signs at a time, and so 32 values, every 16th of a block of 512. */
KERNEL sketch_sums(ulong count, uint first, uint second, INPUT(x), DOUBLES(partial)) {
  __local double share[GROUP];
  double squares = 0, values = 0;
  const ulong words = (count + SIGN_BLOCK - 1) / SIGN_BLOCK * SIGN_LANES;
  for (ulong number = get_global_id(0); number < words; number += get_global_size(0)) {
    uint signs = sign_word(first, second, (uint)number);
    const ulong begin = number / SIGN_LANES * SIGN_BLOCK + number % SIGN_LANES;
    const ulong end = min(begin + SIGN_BLOCK, count);
    for (ulong i = begin; i < end; i += SIGN_LANES) {
      const double value = x[x_at + i];
      squares += value * value;
      values += (signs & 0x80000000u) != 0 ? -value : value;
      signs <<= 1;
    }
  }
  squares = group_sum(squares, share);
  values = group_sum(values, share);
  if (get_local_id(0) == 0) {
    partial[partial_at + get_group_id(0)] = squares;
    partial[partial_at + get_num_groups(0) + get_group_id(0)] = values;
  }
}

/* Losses of a single output: they return a row's loss and leave d(loss)/d(output). */

double logistic(float label, __global float *output) {
  const double y = label > 0.5f ? 1 : -1;
  const double margin = y * *output;
  const double small = exp(-fabs(margin));
  *output = (float)(-y * (margin < 0 ? 1 : small) / (1 + small));
  return log1p(small) + (margin < 0 ? -margin : 0);
}

double hinge(float label, __global float *output) {
  const double y = label > 0.5f ? 1 : -1;
  const double missing = 1 - y * *output; /* Of the margin; NaN stays. */
  *output = (float)(missing <= 0 ? 0 : missing == missing ? -y : missing);
  return missing <= 0 ? 0 : missing;
}

double squared(float label, __global float *output) {
  const float difference = *output - label;
  *output = difference;
  return 0.5 * difference * difference;
}

#define LOSS_KERNEL(loss)                                                                 \
  KERNEL loss##_loss(ulong rows, INPUT(label), FLOATS(x), DOUBLES(partial)) {             \
    __local double share[GROUP];                                                          \
    double sum = 0;                                                                       \
    for (ulong row = get_global_id(0); row < rows; row += get_global_size(0)) {           \
      sum += loss(label[label_at + row], x + x_at + row);                                 \
    }                                                                                     \
    sum = group_sum(sum, share);                                                          \
    if (get_local_id(0) == 0) partial[partial_at + get_group_id(0)] = sum;                \
  }

LOSS_KERNEL(logistic)
LOSS_KERNEL(hinge)
LOSS_KERNEL(squared)

/* Rows short enough for an item each. */
KERNEL softmax_of_items(ulong rows, ulong columns, INPUT(label), FLOATS(x), DOUBLES(partial)) {
  __local double share[GROUP];
  double loss = 0;
  for (ulong row = get_global_id(0); row < rows; row += get_global_size(0)) {
    __global float *values = x + x_at + row * columns;
    const ulong right = (ulong)label[label_at + row];
    const float of_right = values[right];
    float largest = values[0];
    for (ulong c = 1; c < columns; ++c) largest = fmax(largest, values[c]);
    double sum = 0;
    for (ulong c = 0; c < columns; ++c) sum += exp((double)values[c] - largest);
    loss += log(sum) - ((double)of_right - largest);
    for (ulong c = 0; c < columns; ++c) {
      const double share_of = exp((double)values[c] - largest) / sum;
      values[c] = (float)(share_of - (c == right ? 1 : 0));
    }
  }
  loss = group_sum(loss, share);
  if (get_local_id(0) == 0) partial[partial_at + get_group_id(0)] = loss;
}

/* A group per row. */
KERNEL softmax_of_groups(ulong rows, ulong columns, INPUT(label), FLOATS(x), DOUBLES(partial)) {
  __local double share[GROUP];
  __local float share_of_floats[GROUP];
  double loss = 0;
  for (ulong row = get_group_id(0); row < rows; row += get_num_groups(0)) {
    __global float *values = x + x_at + row * columns;
    const ulong right = (ulong)label[label_at + row];
    const float of_right = values[right];
    float largest = -INFINITY;
    for (ulong c = get_local_id(0); c < columns; c += GROUP) largest = fmax(largest, values[c]);
    largest = group_max(largest, share_of_floats);
    double sum = 0;
    for (ulong c = get_local_id(0); c < columns; c += GROUP) {
      sum += exp((double)values[c] - largest);
    }
    /* Nobody writes before all have read. */
    sum = group_sum(sum, share);
    loss += log(sum) - ((double)of_right - largest);
    for (ulong c = get_local_id(0); c < columns; c += GROUP) {
      const double share_of = exp((double)values[c] - largest) / sum;
      values[c] = (float)(share_of - (c == right ? 1 : 0));
    }
  }
  if (get_local_id(0) == 0) partial[partial_at + get_group_id(0)] = loss;
}
