/* SPDX-License-Identifier: Apache-2.0 */
/* Losses, sums of squares and sketches. Each group writes a partial sum, and finish_sum adds these
 * up. Arithmetic is wide: there are few values, or memory is slower than the arithmetic. */

/* A tile of values stays in the caches of a processor, which runs a group's items in turn. */
#define TILE (32 * GROUP)

KERNEL square_sums(ulong count, INPUT(x), WIDES(partial)) {
  __local wide share[GROUP];
  wide sum = wide_of(0);
  const ulong step = (ulong)get_num_groups(0) * TILE;
  for (ulong begin = (ulong)get_group_id(0) * TILE; begin < count; begin += step) {
    const ulong end = min(begin + TILE, count);
    for (ulong i = begin + get_local_id(0); i < end; i += GROUP) {
      sum = plus_product(sum, x[x_at + i], x[x_at + i]);
    }
  }
  sum = group_sum(sum, share);
  if (get_local_id(0) == 0) partial[partial_at + get_group_id(0)] = sum;
}

/* The same function as in base/signs.h. */
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

/* An item has one word of signs at a time: 32 values, every 16th of a block of 512. */
KERNEL sketch_sums(ulong count, uint first, uint second, INPUT(x), WIDES(partial)) {
  __local wide share[GROUP];
  wide squares = wide_of(0), values = wide_of(0);
  const ulong words = (count + SIGN_BLOCK - 1) / SIGN_BLOCK * SIGN_LANES;
  for (ulong number = get_global_id(0); number < words; number += get_global_size(0)) {
    uint signs = sign_word(first, second, (uint)number);
    const ulong begin = number / SIGN_LANES * SIGN_BLOCK + number % SIGN_LANES;
    const ulong end = min(begin + SIGN_BLOCK, count);
    for (ulong i = begin; i < end; i += SIGN_LANES) {
      const float value = x[x_at + i];
      squares = plus_product(squares, value, value);
      values = plus(values, wide_of((signs & 0x80000000u) != 0 ? -value : value));
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

/* Losses of a single output. They return a row's loss and write d(loss)/d(output). */

wide logistic(float label, __global float *output) {
  const float y = label > 0.5f ? 1 : -1;
  const float margin = y * *output;
  const wide small = exp_of(wide_of(-fabs(margin)));
  const wide both = plus(wide_of(1), small);
  *output = -y * quotient(margin < 0 ? wide_of(1) : small, both);
  return plus(log1p_of(small), wide_of(margin < 0 ? -margin : 0));
}

wide hinge(float label, __global float *output) {
  const float y = label > 0.5f ? 1 : -1;
  const float margin = y * *output;
  const wide missing = difference(1, margin); /* NaN stays. */
  *output = margin >= 1 ? 0 : margin == margin ? -y : margin;
  return margin >= 1 ? wide_of(0) : missing;
}

wide squared(float label, __global float *output) {
  const float difference_of = *output - label;
  *output = difference_of;
  return plus_product(wide_of(0), 0.5f * difference_of, difference_of);
}

/* With `weighted`, loss and derivative are multiplied by the weight of the class. */
#define LOSS_KERNEL(loss)                                                                          \
  KERNEL loss##_loss(ulong rows, INPUT(label), int weighted, INPUT(weight), FLOATS(x),             \
                     WIDES(partial)) {                                                             \
    __local wide share[GROUP];                                                                     \
    wide sum = wide_of(0);                                                                         \
    for (ulong row = get_global_id(0); row < rows; row += get_global_size(0)) {                    \
      const float right = label[label_at + row];                                                   \
      wide one = loss(right, x + x_at + row);                                                      \
      if (weighted) {                                                                              \
        const float by = weight[weight_at + (right > 0.5f ? 1 : 0)];                               \
        one = times(wide_of(by), one);                                                             \
        x[x_at + row] *= by;                                                                       \
      }                                                                                            \
      sum = plus(sum, one);                                                                        \
    }                                                                                              \
    sum = group_sum(sum, share);                                                                   \
    if (get_local_id(0) == 0) partial[partial_at + get_group_id(0)] = sum;                         \
  }

LOSS_KERNEL(logistic)
LOSS_KERNEL(hinge)
LOSS_KERNEL(squared)

/* Stands for a label that is no class: it is no column, so nothing is read or written for it. */
ulong class_of(float label, ulong columns) {
  return label >= 0 && label < (float)columns ? (ulong)label : columns;
}

/* For rows short enough for one item each. */
KERNEL softmax_of_items(ulong rows, ulong columns, INPUT(label), int weighted, INPUT(weight),
                        FLOATS(x), WIDES(partial)) {
  __local wide share[GROUP];
  wide loss = wide_of(0);
  for (ulong row = get_global_id(0); row < rows; row += get_global_size(0)) {
    __global float *values = x + x_at + row * columns;
    const ulong right = class_of(label[label_at + row], columns);
    float largest = values[0];
    for (ulong c = 1; c < columns; ++c) largest = fmax(largest, values[c]);
    const bool weighs = weighted && right < columns;
    const float by = weighs ? weight[weight_at + right] : 1;
    wide own = wide_of(0);
    if (right < columns) own = difference(largest, values[right]);
    wide sum = wide_of(0);
    for (ulong c = 0; c < columns; ++c) sum = plus(sum, exp_of(difference(values[c], largest)));
    own = plus(own, log_of(sum));
    loss = plus(loss, weighs ? times(wide_of(by), own) : own);
    for (ulong c = 0; c < columns; ++c) {
      const float slope = share_of(exp_of(difference(values[c], largest)), sum, c == right);
      values[c] = weighs ? by * slope : slope;
    }
  }
  loss = group_sum(loss, share);
  if (get_local_id(0) == 0) partial[partial_at + get_group_id(0)] = loss;
}

/* A group per row. */
KERNEL softmax_of_groups(ulong rows, ulong columns, INPUT(label), int weighted, INPUT(weight),
                         FLOATS(x), WIDES(partial)) {
  __local wide share[GROUP];
  __local float share_of_floats[GROUP];
  wide loss = wide_of(0);
  for (ulong row = get_group_id(0); row < rows; row += get_num_groups(0)) {
    __global float *values = x + x_at + row * columns;
    const ulong right = class_of(label[label_at + row], columns);
    const float of_right = right < columns ? values[right] : 0;
    float largest = -INFINITY;
    for (ulong c = get_local_id(0); c < columns; c += GROUP) largest = fmax(largest, values[c]);
    largest = group_max(largest, share_of_floats);
    wide sum = wide_of(0);
    for (ulong c = get_local_id(0); c < columns; c += GROUP) {
      sum = plus(sum, exp_of(difference(values[c], largest)));
    }
    /* No item writes before all have read. */
    sum = group_sum(sum, share);
    const bool weighs = weighted && right < columns;
    const float by = weighs ? weight[weight_at + right] : 1;
    wide own = log_of(sum);
    if (right < columns) own = plus(difference(largest, of_right), own);
    loss = plus(loss, weighs ? times(wide_of(by), own) : own);
    for (ulong c = get_local_id(0); c < columns; c += GROUP) {
      const float slope = share_of(exp_of(difference(values[c], largest)), sum, c == right);
      values[c] = weighs ? by * slope : slope;
    }
  }
  if (get_local_id(0) == 0) partial[partial_at + get_group_id(0)] = loss;
}
