/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation, a group per row; sums are wide. */

KERNEL layer_norm(ulong rows, ulong columns, float epsilon, INPUT(gain), INPUT(bias), FLOATS(x),
                  FLOATS(inverse), FLOATS(out)) {
  __local wide share[GROUP];
  for (ulong row = get_group_id(0); row < rows; row += get_num_groups(0)) {
    __global float *values = x + x_at + row * columns;
    __global float *to = out + out_at + row * columns;
    wide sum = wide_of(0);
    for (ulong c = get_local_id(0); c < columns; c += GROUP) sum = plus(sum, wide_of(values[c]));
    const wide less_mean = times(wide_of(-1), over_count(group_sum(sum, share), columns));
    wide squares = wide_of(0);
    for (ulong c = get_local_id(0); c < columns; c += GROUP) {
      const wide distance = plus(wide_of(values[c]), less_mean);
      squares = plus(squares, times(distance, distance));
    }
    const wide variance = over_count(group_sum(squares, share), columns);
    const wide scale = inverse_root(plus(variance, wide_of(epsilon)));
    if (get_local_id(0) == 0) inverse[inverse_at + row] = to_float(scale);
    for (ulong c = get_local_id(0); c < columns; c += GROUP) {
      const float normal = to_float(times(plus(wide_of(values[c]), less_mean), scale));
      values[c] = normal;
      to[c] = gain[gain_at + c] * normal + bias[bias_at + c];
    }
  }
}

KERNEL layer_norm_backward(ulong rows, ulong columns, INPUT(gain), INPUT(inverse), FLOATS(normal),
                           FLOATS(delta)) {
  __local wide share[GROUP];
  for (ulong row = get_group_id(0); row < rows; row += get_num_groups(0)) {
    __global float *values = normal + normal_at + row * columns;
    __global float *slopes = delta + delta_at + row * columns;
    wide sum = wide_of(0);
    wide along = wide_of(0);
    for (ulong c = get_local_id(0); c < columns; c += GROUP) {
      const wide slope = plus_product(wide_of(0), gain[gain_at + c], slopes[c]);
      sum = plus(sum, slope);
      along = plus(along, times(slope, wide_of(values[c])));
    }
    const wide mean = over_count(group_sum(sum, share), columns);
    const wide mean_along = over_count(group_sum(along, share), columns);
    for (ulong c = get_local_id(0); c < columns; c += GROUP) {
      const float slope = slopes[c];
      const float value = values[c];
      const wide taken = plus(mean, times(mean_along, wide_of(value)));
      const wide rest = plus_product(times(wide_of(-1), taken), gain[gain_at + c], slope);
      slopes[c] = to_float(times(wide_of(inverse[inverse_at + row]), rest));
      values[c] = slope * value;
    }
  }
}
