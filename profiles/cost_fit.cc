// SPDX-License-Identifier: Apache-2.0
#include "profiles/cost_fit.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace motley {
namespace {

// A knee is one more number to fit, so noise must not produce one.
constexpr double kKneeGain = 0.35;     // The squared error that may remain, of that without a knee.
constexpr double kKneeNoise = 2;       // Mean error, in standard errors, that justifies a knee.
constexpr double kLeastError = 0.01;   // Relative; no median is more accurate.
constexpr double kLeastGrowth = 1e-3;  // Growth up to the largest size, relative to the overhead.
constexpr double kNormal = 1.4826;     // Standard over median absolute deviation, if normal.
constexpr double kSlowPiece = 2;
constexpr double kSlowErrors = 6;  // A slow piece is also this many standard deviations off.

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

struct Point {
  double samples = 0;
  double seconds = 0;  // Median.
};

struct Line {
  double overhead = 0;
  double per_sample = 0;
  double error = 0;  // Sum of squared relative errors.
};

double SecondsOn(const Line& line, double knee, double samples) {
  return line.overhead + line.per_sample * std::max(samples, knee);
}

// The best curve for a given knee; nothing when time does not grow.
std::optional<Line> FitLine(std::span<const Point> points, double knee) {
  double a = 0, b = 0, d = 0, right0 = 0, right1 = 0;
  for (const Point& point : points) {
    const double u = 1 / point.seconds;
    const double v = std::max(point.samples, knee) / point.seconds;
    a += u * u;
    b += u * v;
    d += v * v;
    right0 += u;
    right1 += v;
  }
  Line line;
  const double determinant = a * d - b * b;
  if (determinant > 1e-12 * a * d) {
    line.overhead = (d * right0 - b * right1) / determinant;
    line.per_sample = (a * right1 - b * right0) / determinant;
  }
  if (!(line.overhead > 0)) line = {.overhead = 0, .per_sample = right1 / d};
  const double work = line.per_sample * points.back().samples;
  if (!(work > kLeastGrowth * line.overhead) || !std::isfinite(work)) return std::nullopt;
  for (const Point& point : points) {
    const double error = SecondsOn(line, knee, point.samples) / point.seconds - 1;
    line.error += error * error;
  }
  return line;
}

// One point per size, in ascending order.
Result<std::vector<Point>> Medians(std::span<const SizeMeasurement> sizes) {
  std::vector<Point> points;
  for (const SizeMeasurement& size : sizes) {
    const bool sane = size.samples > 0 && std::isfinite(size.samples) && !size.seconds.empty() &&
                      std::all_of(size.seconds.begin(), size.seconds.end(), [](double seconds) {
                        return seconds > 0 && std::isfinite(seconds);
                      });
    if (!sane) {
      return Status::InvalidArgument(
          "every measured size needs a positive number of samples and positive times");
    }
    points.push_back({size.samples, MedianOf(size.seconds)});
  }
  std::sort(points.begin(), points.end(),
            [](const Point& x, const Point& y) { return x.samples < y.samples; });
  if (points.size() < 2 || points.front().samples == points.back().samples) {
    return Status::InvalidArgument("a time curve needs measurements of at least two sizes");
  }
  return points;
}

// Measures noise and tail about each size's median.
void MeasureSpread(std::span<const SizeMeasurement> sizes, CostFit& fit) {
  std::vector<double> ratios, deviations;
  for (const SizeMeasurement& size : sizes) {
    const double median = MedianOf(size.seconds);
    for (const double seconds : size.seconds) {
      ratios.push_back(seconds / median);
      // Two measurements of a size do not show the noise.
      if (size.seconds.size() > 2) deviations.push_back(std::abs(seconds / median - 1));
    }
  }
  if (!deviations.empty()) fit.jitter = kNormal * MedianOf(deviations);
  const double slow = std::max(kSlowPiece, 1 + kSlowErrors * fit.jitter);
  double count = 0, sum = 0;
  for (const double ratio : ratios) {
    if (ratio <= slow) continue;
    count += 1;
    sum += ratio;
  }
  if (count == 0) return;
  fit.tail_probability = count / static_cast<double>(ratios.size());
  fit.tail_factor = sum / count;
}

// The relative standard error of the median of the size with the fewest measurements.
double MedianError(std::span<const SizeMeasurement> sizes, double jitter) {
  size_t least = sizes.front().seconds.size();
  for (const SizeMeasurement& size : sizes) least = std::min(least, size.seconds.size());
  return 1.25 * jitter / std::sqrt(static_cast<double>(least));
}

// Tries every knee. A knee beyond the second size leaves at least two sizes on its flat part, and
// the last two sizes give the slope.
void SeekKnee(std::span<const Point> points, Line& best, double& knee) {
  double least = kKneeGain * best.error;
  for (size_t i = 1; i + 2 < points.size(); ++i) {
    const double middle = std::sqrt(points[i].samples * points[i + 1].samples);
    for (const double tried : {points[i].samples, middle}) {
      const std::optional<Line> line = FitLine(points, tried);
      if (!line || line->error >= least) continue;
      least = line->error;
      best = *line;
      knee = tried;
    }
  }
}

}  // namespace

Result<CostFit> FitCost(std::span<const SizeMeasurement> sizes) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Point> points, Medians(sizes));
  std::optional<Line> best = FitLine(points, 0);
  if (!best) {
    return Status::InvalidArgument(
        "the measured times do not grow with the size; measure larger pieces");
  }
  CostFit fit;
  MeasureSpread(sizes, fit);
  const double noise = kKneeNoise * std::max(kLeastError, MedianError(sizes, fit.jitter));
  if (best->error > noise * noise * static_cast<double>(points.size())) {
    SeekKnee(points, *best, fit.knee_samples);
  }
  fit.overhead_seconds = best->overhead;
  fit.samples_per_second = 1 / best->per_sample;
  for (const Point& point : points) {
    const double seconds = SecondsOn(*best, fit.knee_samples, point.samples);
    fit.worst_error = std::max(fit.worst_error, std::abs(seconds / point.seconds - 1));
  }
  return fit;
}

void CostFit::ApplyTo(DeviceProfile& device) const {
  device.overhead_seconds = overhead_seconds;
  device.samples_per_second = samples_per_second;
  device.knee_samples = knee_samples;
  device.jitter = jitter;
  device.tail_probability = tail_probability;
  device.tail_factor = tail_factor;
}

}  // namespace motley
