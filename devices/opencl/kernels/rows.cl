/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation, a group per row; sums are double. */

KERNEL layer_norm(ulong rows, ulong columns, float epsilon, INPUT(gain), INPUT(bias), FLOATS(x),
                  FLOATS(inverse), FLOATS(out)) {
  __local double share[GROUP];
  for (ulong row = get_group_id(0); row < rows; row += get_num_groups(0)) {
    __global float *values = x + x_at + row * columns;
    __global float *to = out + out_at + row * columns;
    double sum = 0;
    for (ulong c = get_local_id(0); c < columns; c += GROUP) sum += values[c];
    const double mean = group_sum(sum, share) / columns;
    double squares = 0;
    for (ulong c = get_local_id(0); c < columns; c += GROUP) {
      const double distance = values[c] - mean;
      squares += distance * distance;
    }
    const double scale = 1 / sqrt(group_sum(squares, share) / columns + epsilon);
    if (get_local_id(0) == 0) inverse[inverse_at + row] = (float)scale;
    for (ulong c = get_local_id(0); c < columns; c += GROUP) {
      const float normal = (float)((values[c] - mean) * scale);
      values[c] = normal;
      to[c] = gain[gain_at + c] * normal + bias[bias_at + c];
    }
  }
}

KERNEL layer_norm_backward(ulong rows, ulong columns, INPUT(gain), INPUT(inverse), FLOATS(normal),
                           FLOATS(delta)) {
  __local double share[GROUP];
  for (ulong row = get_group_id(0); row < rows; row += get_num_groups(0)) {
    __global float *values = normal + normal_at + row * columns;
    __global float *slopes = delta + delta_at + row * columns;
    double sum = 0;
    double along = 0;
    for (ulong c = get_local_id(0); c < columns; c += GROUP) {
      const double slope = (double)gain[gain_at + c] * slopes[c];
      sum += slope;
      along += slope * values[c];
    }
    sum = group_sum(sum, share);
    along = group_sum(along, share);
    for (ulong c = get_local_id(0); c < columns; c += GROUP) {
      const float slope = slopes[c];
      const float value = values[c];
      const double rest = (double)gain[gain_at + c] * slope - (sum + along * value) / columns;
      slopes[c] = (float)(inverse[inverse_at + row] * rest);
      values[c] = slope * value;
    }
  }
}
