/* SPDX-License-Identifier: Apache-2.0 */
/* Column sums, and products of a matrix with a vector; memory is slower than their doubles. */

float combine(float alpha, double sum, float beta, float c) {
  return (float)(beta == 0 ? alpha * sum : alpha * sum + beta * (double)c);
}

/* partial[block, c] = sum over the block's rows of x[r, c], times weight[r] where `weighted`. */
KERNEL column_sums(ulong rows, ulong columns, ulong rows_of_block, INPUT(x), int weighted,
                   INPUT(weight), DOUBLES(partial)) {
  const ulong column = get_global_id(0);
  if (column >= columns) return;
  const ulong block = get_global_id(1);
  const ulong end = min((block + 1) * rows_of_block, rows);
  double sum = 0;
  for (ulong row = block * rows_of_block; row < end; ++row) {
    const double value = x[x_at + row * columns + column];
    sum += weighted ? value * weight[weight_at + row] : value;
  }
  partial[partial_at + block * columns + column] = sum;
}

/* c = alpha * the sum of the blocks + beta * c. */
KERNEL finish_columns(ulong columns, ulong blocks, DOUBLES(partial), float alpha, float beta,
                      FLOATS(c)) {
  const ulong column = get_global_id(0);
  if (column >= columns) return;
  double sum = 0;
  for (ulong block = 0; block < blocks; ++block) sum += partial[partial_at + block * columns + column];
  c[c_at + column] = combine(alpha, sum, beta, beta == 0 ? 0 : c[c_at + column]);
}

/* c[r] = alpha * a[r, :] x + beta * c[r], where x is all 1 unless `weighted`; a group per row. */
KERNEL row_sums(ulong rows, ulong columns, INPUT(a), int weighted, INPUT(x), float alpha,
                float beta, FLOATS(c)) {
  __local double share[GROUP];
  for (ulong row = get_group_id(0); row < rows; row += get_num_groups(0)) {
    double sum = 0;
    for (ulong k = get_local_id(0); k < columns; k += GROUP) {
      const double value = a[a_at + row * columns + k];
      sum += weighted ? value * x[x_at + k] : value;
    }
    sum = group_sum(sum, share);
    if (get_local_id(0) == 0) {
      c[c_at + row] = combine(alpha, sum, beta, beta == 0 ? 0 : c[c_at + row]);
    }
  }
}
