/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over images. Each written value has an item of its own, so nothing needs atomic
 * additions. */

#define WINDOW                                                                            \
  ulong height, ulong width, ulong channels, ulong kernel_height, ulong kernel_width,     \
      ulong stride, ulong padding, ulong out_height, ulong out_width

KERNEL im2col(ulong count, WINDOW, INPUT(images), FLOATS(patches)) {
  const ulong i = get_global_id(0);
  if (i >= count) return;
  ulong row = i;
  const ulong c = take_last(&row, channels);
  const ulong kx = take_last(&row, kernel_width);
  const ulong ky = take_last(&row, kernel_height);
  const ulong ox = take_last(&row, out_width);
  const ulong oy = take_last(&row, out_height);
  /* Above and left of the image these wrap around to huge values. */
  const ulong y = oy * stride + ky - padding;
  const ulong x = ox * stride + kx - padding;
  float value = 0;
  if (y < height && x < width) {
    value = images[images_at + ((row * height + y) * width + x) * channels + c];
  }
  patches[patches_at + i] = value;
}

/* `count` is rows * height * width * channels. */
KERNEL col2im(ulong count, WINDOW, INPUT(patches), FLOATS(images)) {
  const ulong i = get_global_id(0);
  if (i >= count) return;
  ulong row = i;
  const ulong c = take_last(&row, channels);
  const ulong x = take_last(&row, width) + padding;
  const ulong y = take_last(&row, height) + padding;
  float sum = 0;
  for (ulong ky = 0; ky < kernel_height && ky <= y; ++ky) {
    const ulong oy = whole_parts(y - ky, stride);
    if (oy * stride + ky != y || oy >= out_height) continue;
    for (ulong kx = 0; kx < kernel_width && kx <= x; ++kx) {
      const ulong ox = whole_parts(x - kx, stride);
      if (ox * stride + kx != x || ox >= out_width) continue;
      const ulong patch = (row * out_height + oy) * out_width + ox;
      sum += patches[patches_at + ((patch * kernel_height + ky) * kernel_width + kx) * channels + c];
    }
  }
  images[images_at + i] += sum;
}

/* The place of the first largest value in the window of output `i`; a NaN counts as largest. */
ulong winner_of(ulong i, WINDOW, __global const float *images) {
  ulong row = i;
  const ulong c = take_last(&row, channels);
  const ulong ox = take_last(&row, out_width);
  const ulong oy = take_last(&row, out_height);
  const ulong first = ((row * height + oy * stride) * width + ox * stride) * channels + c;
  ulong winner = first;
  float largest = images[first];
  for (ulong ky = 0; ky < kernel_height; ++ky) {
    for (ulong kx = 0; kx < kernel_width; ++kx) {
      const ulong at = first + (ky * width + kx) * channels;
      const float value = images[at];
      if (value <= largest || largest != largest) continue;
      winner = at;
      largest = value;
    }
  }
  return winner;
}

#define ALL_OF_WINDOW \
  height, width, channels, kernel_height, kernel_width, stride, padding, out_height, out_width

/* `count` is rows * out_height * out_width * channels, here and below. */
KERNEL max_pool(ulong count, WINDOW, INPUT(images), FLOATS(out)) {
  const ulong i = get_global_id(0);
  if (i >= count) return;
  __global const float *from = images + images_at;
  out[out_at + i] = from[winner_of(i, ALL_OF_WINDOW, from)];
}

/* images_delta must be 0 before. */
KERNEL max_pool_backward(ulong count, WINDOW, INPUT(images), INPUT(out_delta),
                         FLOATS(images_delta)) {
  const ulong i = get_global_id(0);
  if (i >= count) return;
  const ulong winner = winner_of(i, ALL_OF_WINDOW, images + images_at);
  images_delta[images_delta_at + winner] = out_delta[out_delta_at + i];
}
