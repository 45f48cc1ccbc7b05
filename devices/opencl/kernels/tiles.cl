/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices on processors, after Goto, van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication" (ACM TOMS 34(3), 2008): tiles of c stay in registers. Both factors are packed
 * into panels of some lines, each stored as [depth, lines]; the last one is padded with zeros.
 * LANES is the number of floats in a register. */
#ifdef LANES
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(float, LANES)
#define LOAD JOIN(vload, LANES)
#define STORE JOIN(vstore, LANES)
#define TILE_ROWS 6
#define TILE_COLUMNS (2 * LANES)
#define ONE_ITEM __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void

/* to[panel, k, l] = factor * from[line, k], or 0 if the line does not exist. Each item packs a part
 * of the depth of one panel. */
ONE_ITEM pack_panels(ulong lines, ulong depth, ulong width, ulong depth_of_item, ulong line_stride,
                     ulong depth_stride, float factor, INPUT(from), FLOATS(to)) {
  const ulong line = get_global_id(0) * width;
  const ulong here = min(width, lines - line);
  const ulong begin = get_global_id(1) * depth_of_item;
  const ulong end = min(begin + depth_of_item, depth);
  __global const float *source = from + from_at + line * line_stride;
  __global float *target = to + to_at + line * depth;
  for (ulong k = begin; k < end; ++k) {
    for (ulong l = 0; l < here; ++l) {
      target[k * width + l] = factor * source[l * line_stride + k * depth_stride];
    }
    for (ulong l = here; l < width; ++l) target[k * width + l] = 0;
  }
}

/* c = s + beta * c for the first `columns` of two vectors. With beta 0, c is not read. */
void store_row(VECTOR s0, VECTOR s1, float beta, ulong columns, __global float *c) {
  if (columns >= TILE_COLUMNS) {
    if (beta != 0) {
      s0 += beta * LOAD(0, c);
      s1 += beta * LOAD(1, c);
    }
    STORE(s0, 0, c);
    STORE(s1, 1, c);
    return;
  }
  float row[TILE_COLUMNS];
  STORE(s0, 0, row);
  STORE(s1, 1, row);
  for (ulong j = 0; j < columns; ++j) c[j] = beta == 0 ? row[j] : row[j] + beta * c[j];
}

#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define CLEAR(i) VECTOR s##i##0 = 0, s##i##1 = 0;
#define ADD(i)           \
  s##i##0 += at[i] * b0; \
  s##i##1 += at[i] * b1;
#define KEEP(i) \
  if (row + i < end) store_row(s##i##0, s##i##1, scale, n - column, target + i * stride);

/* c[m,n] = packed a * packed b + beta * c. Each item has a panel of columns and some panels of
 * rows. The depth is cut so that a panel of b stays in the first-level cache, and so that sums keep
 * their precision. */
ONE_ITEM multiply_tiles(ulong m, ulong n, ulong depth, ulong rows_of_item, ulong stride, INPUT(a),
                        INPUT(b), float beta, FLOATS(c)) {
  const ulong column = get_global_id(0) * TILE_COLUMNS;
  const ulong first = get_global_id(1) * rows_of_item;
  const ulong end = min(first + rows_of_item, m);
  for (ulong begin = 0; begin < depth; begin += DEPTH) {
    const ulong part = min((ulong)DEPTH, depth - begin);
    const float scale = begin == 0 ? beta : 1;
    for (ulong row = first; row < end; row += TILE_ROWS) {
      __global const float *at = a + a_at + row * depth + begin * TILE_ROWS;
      __global const float *from = b + b_at + column * depth + begin * TILE_COLUMNS;
      EACH_ROW(CLEAR)
      for (ulong k = 0; k < part; ++k) {
        const VECTOR b0 = LOAD(0, from);
        const VECTOR b1 = LOAD(1, from);
        EACH_ROW(ADD)
        at += TILE_ROWS;
        from += TILE_COLUMNS;
      }
      __global float *target = c + c_at + row * stride + column;
      EACH_ROW(KEEP)
    }
  }
}
#endif
