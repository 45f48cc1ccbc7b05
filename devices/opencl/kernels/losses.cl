/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and sums of squares; a partial sum per group, which finish_sum adds up. Arithmetic is
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
