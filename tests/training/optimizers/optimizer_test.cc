// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/optimizer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "tests/training/reference.h"
#include "tests/training/test_data.h"
#include "training/models/evaluate.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options, size_t count) {
  auto optimizer = Optimizer::Create(options, count);
  EXPECT_TRUE(optimizer.ok()) << optimizer.status().ToString();
  return *std::move(optimizer);
}

struct TrainingCase {
  ModelSpec spec;
  bool sparse;
  double rate;
};

void PrintTo(const TrainingCase& value, std::ostream* out) {
  *out << value.spec.name << (value.sparse ? " sparse" : " dense");
}

// Trains with kernels on one batch gathered over all partitions, as a single worker would.
std::vector<float> TrainByKernels(Model& model, Device& device, const OptimizerOptions& options,
                                  const BatchSchedule& schedule, const Dataset& data, size_t steps,
                                  std::vector<float> parameters) {
  const auto optimizer = MakeOptimizer(options, parameters.size());
  std::vector<float> gradient(parameters.size());
  double loss = 0;
  for (StepId step = 0; step < steps; ++step) {
    std::fill(gradient.begin(), gradient.end(), 0.0f);
    const Dataset batch = Select(data, schedule.Rows(step));
    EXPECT_TRUE(model.AddGradient(device, parameters, batch, 1, gradient, loss).ok());
    EXPECT_TRUE(
        optimizer
            ->Apply(device, gradient, parameters, {.weight = static_cast<double>(batch.rows())})
            .ok());
  }
  EXPECT_EQ(optimizer->steps(), steps);
  return parameters;
}

class ReferenceTraining : public testing::TestWithParam<TrainingCase> {};

TEST_P(ReferenceTraining, EveryOptimizerEndsAtTheLossOfPlainTraining) {
  const TrainingCase& the_case = GetParam();
  const Dataset data =
      MakeSamples(the_case.spec.features, the_case.spec.classes, the_case.sparse, 300, 3);
  const BatchSchedule schedule(7, PartitionSizes(data.rows(), 5), 32);
  TestRig rig;
  const auto model = MakeModel(the_case.spec);
  std::vector<float> start(model->parameter_count());
  model->Initialize(7, start);
  constexpr size_t kSteps = 60;
  for (const OptimizerRule* rule : OptimizerRules()) {
    const char* name = rule->name;
    OptimizerOptions options = UsualOptions(name);
    options.learning_rate = rule->follows_gradient ? the_case.rate : 0.01;
    options.l2 = 0.01;
    const auto got = TrainByKernels(*model, *rig.device, options, schedule, data, kSteps, start);
    const auto plain = reference::Train(the_case.spec, options, schedule, data, kSteps,
                                        std::vector<double>(start.begin(), start.end()));
    const double wanted = reference::LossAndGradient(the_case.spec, plain, data, {}) / 300;
    const auto evaluation = Evaluate(*model, *rig.device, got, data);
    ASSERT_TRUE(evaluation.ok());
    EXPECT_NEAR(evaluation->loss, wanted, 1e-4 * wanted) << name;
    const double before =
        reference::LossAndGradient(the_case.spec, std::vector<double>(start.begin(), start.end()),
                                   data, {}) /
        300;
    EXPECT_LT(wanted, 0.9 * before) << name << " learned nothing";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceTraining,
                         testing::Values(TrainingCase{{"linear", 8, 0}, false, 0.05},
                                         TrainingCase{{"logistic", 8, 2}, true, 0.1},
                                         TrainingCase{{"softmax", 8, 4}, false, 0.1},
                                         TrainingCase{{"softmax", 8, 4}, true, 0.1},
                                         TrainingCase{{"mlp:12,6", 8, 3}, false, 0.05},
                                         TrainingCase{{"mlp:12", 8, 3}, true, 0.05}));

TEST(Optimizer, EachHasUsualOptions) {
  EXPECT_EQ(UsualOptions("sgd").learning_rate, 0.1);
  EXPECT_EQ(UsualOptions("momentum").learning_rate, 0.1);
  EXPECT_EQ(UsualOptions("nag").learning_rate, 0.1);
  EXPECT_EQ(UsualOptions("adam").learning_rate, 0.001);
  EXPECT_EQ(UsualOptions("adam").weight_decay, 0);
  EXPECT_EQ(UsualOptions("adamw").weight_decay, 0.01);
  EXPECT_EQ(UsualOptions("none such").learning_rate, 0.1);
  for (const std::string& name : OptimizerNames()) {
    EXPECT_EQ(UsualOptions(name).name, name);
    EXPECT_TRUE(Optimizer::Create(UsualOptions(name), 3).ok()) << name;
  }
}

// A job whose optimizer is chosen for it has the options of OptimizerOptions, so their defaults are
// those of the rules that read them. Options that are off by default are the exception.
TEST(Optimizer, RulesAgreeWithTheDefaultsOfTheirOptions) {
  for (const OptimizerRule* rule : OptimizerRules()) {
    EXPECT_STRNE(rule->help, "") << rule->name;
    for (const RuleOption& option : rule->options) {
      const double given = OptimizerOptions().*option.value;
      const double wanted = given != 0 ? given : option.usual;
      EXPECT_EQ(option.usual, wanted) << rule->name << " " << option.name;
    }
  }
}

TEST(Optimizer, DividesByTheBatchAndAddsL2Once) {
  TestRig rig;
  const auto optimizer = MakeOptimizer({.learning_rate = 0.5, .l2 = 0.1}, 2);
  std::vector<float> gradient = {8, -4};
  std::vector<float> parameters = {1, 2};
  ASSERT_TRUE(optimizer->Apply(*rig.device, gradient, parameters, {.weight = 4}).ok());
  EXPECT_THAT(gradient, testing::ElementsAre(testing::FloatEq(2.1f), testing::FloatEq(-0.8f)));
  EXPECT_THAT(parameters,
              testing::ElementsAre(testing::FloatEq(1 - 1.05f), testing::FloatEq(2 + 0.4f)));
}

TEST(Optimizer, StateIsWhatARestartNeeds) {
  EXPECT_EQ(MakeOptimizer({.name = "sgd"}, 5)->state().size(), 0u);
  EXPECT_EQ(MakeOptimizer({.name = "momentum"}, 5)->state().size(), 5u);
  EXPECT_EQ(MakeOptimizer({.name = "nag"}, 5)->state().size(), 5u);
  EXPECT_EQ(MakeOptimizer({.name = "adam"}, 5)->state().size(), 10u);
  for (const std::string& name : OptimizerNames()) {
    EXPECT_EQ(MakeOptimizer({.name = name}, 5)->state().size(), 5 * OptimizerVectors(name));
  }
  EXPECT_EQ(OptimizerVectors("none such"), 0u);
}

TEST(Optimizer, ARestoredOneGoesOnToTheBit) {
  TestRig rig;
  for (const std::string& name : OptimizerNames()) {
    const OptimizerOptions options{.name = name, .learning_rate = 0.1, .l2 = 0.01};
    const auto whole = MakeOptimizer(options, 3);
    std::unique_ptr<Optimizer> parted = MakeOptimizer(options, 3);
    std::vector<float> expected = {1, 2, -3};
    std::vector<float> parameters = expected;
    for (int step = 0; step < 6; ++step) {
      std::vector<float> gradient = {0.5f * static_cast<float>(step), 1, -0.25f};
      std::vector<float> same = gradient;
      ASSERT_TRUE(whole->Apply(*rig.device, gradient, expected, {.weight = 1}).ok());
      if (step == 3) {
        auto next = MakeOptimizer(options, 3);
        ASSERT_TRUE(next->Restore(parted->steps(), parted->state()).ok());
        parted = std::move(next);
      }
      ASSERT_TRUE(parted->Apply(*rig.device, same, parameters, {.weight = 1}).ok());
    }
    EXPECT_EQ(parameters, expected) << name;
    EXPECT_EQ(parted->steps(), 6u);
  }
}

TEST(Optimizer, StateOfAnotherLengthIsNotRestored) {
  const auto optimizer = MakeOptimizer({.name = "adam"}, 3);
  const Status refused = optimizer->Restore(5, std::vector<float>(3));
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), testing::HasSubstr("keeps 6 values"));
  EXPECT_EQ(optimizer->steps(), 0u);
}

TEST(Optimizer, WrongSizesAreRefusedAndCountNoStep) {
  TestRig rig;
  const auto optimizer = MakeOptimizer({}, 3);
  std::vector<float> three(3), four(4);
  EXPECT_EQ(optimizer->Apply(*rig.device, four, three, {.weight = 1}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(optimizer->Apply(*rig.device, three, four, {.weight = 1}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(optimizer->Apply(*rig.device, three, three, {.weight = -1}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(optimizer->Apply(*rig.device, three, three, {.weight = std::nan("")}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(optimizer->steps(), 0u);
}

TEST(Optimizer, ConstantsOutOfRangeAreRefusedByName) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<OptimizerOptions, std::string>> cases = {
      {{.learning_rate = 0}, "`learning_rate`"},
      {{.learning_rate = -1}, "`learning_rate`"},
      {{.learning_rate = nan}, "`learning_rate`"},
      {{.learning_rate = 1e-60}, "`learning_rate`"},
      {{.learning_rate = 1e300}, "`learning_rate`"},
      {{.l2 = -0.1}, "`l2`"},
      {{.momentum = 1}, "`momentum`"},
      {{.momentum = -0.1}, "`momentum`"},
      {{.beta1 = 1}, "`beta1`"},
      {{.beta2 = 1.5}, "`beta2`"},
      {{.epsilon = 0}, "`epsilon`"},
      {{.weight_decay = 0.1}, "sgd has none. Use `optimizer` adamw"},
      {{.name = "adm"}, "Did you mean 'adam'"}};
  for (const auto& [options, name] : cases) {
    const auto optimizer = Optimizer::Create(options, 1);
    EXPECT_EQ(optimizer.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(optimizer.status().message(), testing::HasSubstr(name));
  }
}

std::vector<float> AfterOneStep(const OptimizerOptions& options, std::vector<float> gradient,
                                std::vector<float> parameters, double rate_factor = 1) {
  TestRig rig;
  const auto optimizer = MakeOptimizer(options, parameters.size());
  EXPECT_TRUE(
      optimizer->Apply(*rig.device, gradient, parameters, {.weight = 2, .rate_factor = rate_factor})
          .ok());
  return parameters;
}

TEST(Optimizer, ClipsTheMeanGradientToItsNorm) {
  const OptimizerOptions options{.learning_rate = 1, .clip = 2.5};
  // The means are (3, 4), of norm 5, and (0.9, 1.2), of norm 1.5.
  // PyTorch divides by the norm + 1e-6.
  EXPECT_THAT(AfterOneStep(options, {6, 8}, {0, 0}),
              testing::ElementsAre(testing::FloatEq(static_cast<float>(-3 * 2.5 / 5.000001)),
                                   testing::FloatEq(static_cast<float>(-4 * 2.5 / 5.000001))));
  EXPECT_THAT(AfterOneStep(options, {1.8f, 2.4f}, {0, 0}), testing::ElementsAre(-0.9f, -1.2f));
}

TEST(Optimizer, DecaysWeightsApartFromTheGradient) {
  OptimizerOptions options{.name = "adamw", .learning_rate = 0.1, .weight_decay = 0.5};
  const auto decayed = AfterOneStep(options, {4, -4}, {2, 2});
  options.weight_decay = 0;
  const auto plain = AfterOneStep(options, {4, -4}, {2, 2});
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(decayed[i], plain[i] - 0.1 * 0.5 * 2, 1e-6);
  options.name = "adam";
  EXPECT_EQ(AfterOneStep(options, {4, -4}, {2, 2}), plain);
  options.weight_decay = 0.5;
  EXPECT_EQ(Optimizer::Create(options, 2).code(), StatusCode::kInvalidArgument);
}

TEST(Optimizer, MultipliesItsRate) {
  const OptimizerOptions options{.learning_rate = 0.5};
  EXPECT_THAT(AfterOneStep(options, {4}, {1}, 0.25), testing::ElementsAre(0.75f));
}

TEST(Optimizer, RefusesAScheduleThatIsNone) {
  EXPECT_EQ(Optimizer::Create({.schedule = "never"}, 2).code(), StatusCode::kInvalidArgument);
}

// --- States of each worker (DANA, Hakimi et al., arXiv 1907.11612), and staleness ---

using Vector = std::vector<double>;

constexpr size_t kCount = 5;
constexpr double kRate = 0.03, kMomentum = 0.9;

// The mean gradient of a quadratic function whose minimum moves with the update's batch.
Vector GradientAt(const Vector& w, uint64_t update) {
  Vector gradient(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const double target = std::sin(static_cast<double>(update) + static_cast<double>(i));
    gradient[i] = (1 + 0.3 * static_cast<double>(i)) * (w[i] - target);
  }
  return gradient;
}

// The paper's DANA-Zero: the server has the momentum of each worker, and sends each worker the
// parameters that the momenta of all will lead to.
class Zero {
 public:
  explicit Zero(uint32_t workers) : momenta_(workers, Vector(kCount)), w_(kCount) {}

  void Apply(WorkerId worker, const Vector& gradient) {
    for (size_t i = 0; i < kCount; ++i) {
      momenta_[worker][i] = kMomentum * momenta_[worker][i] + gradient[i];
      w_[i] -= kRate * momenta_[worker][i];
    }
  }
  Vector Sent() const {
    Vector sent = w_;
    for (const Vector& momentum : momenta_) {
      for (size_t i = 0; i < kCount; ++i) sent[i] -= kRate * kMomentum * momentum[i];
    }
    return sent;
  }

 private:
  std::vector<Vector> momenta_;
  Vector w_;
};

OptimizerOptions Nag(uint32_t states) {
  return {.name = "nag", .learning_rate = kRate, .momentum = kMomentum, .states = states};
}

// The sum of a batch of so many samples.
std::vector<float> SumOf(const Vector& mean, double weight) {
  std::vector<float> sum;
  for (const double each : mean) sum.push_back(static_cast<float>(each * weight));
  return sum;
}

TEST(WorkerStates, SendWhatDanaZeroSendsInRandomSchedules) {
  TestRig rig;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed, Stream::kTest, 1);
    const auto workers = static_cast<uint32_t>(1 + random.Below(6));
    const auto slim = MakeOptimizer(Nag(workers), kCount);
    Zero zero(workers);
    std::vector<float> parameters(kCount);
    // What each worker was sent last. A lost worker gets it anew, and its update is not applied.
    std::vector<Vector> held(workers, Vector(kCount));
    for (uint64_t update = 0; update < 150; ++update) {
      const auto worker = static_cast<WorkerId>(random.Below(workers));
      if (!random.Chance(0.05)) {
        const double weight = 1 + static_cast<double>(random.Below(40));
        const Vector gradient = GradientAt(held[worker], update);
        std::vector<float> sum = SumOf(gradient, weight);
        ASSERT_TRUE(
            slim->Apply(*rig.device, sum, parameters, {.weight = weight, .worker = worker}).ok());
        zero.Apply(worker, gradient);
      }
      held[worker] = zero.Sent();
      for (size_t i = 0; i < kCount; ++i) {
        ASSERT_NEAR(parameters[i], held[worker][i], 1e-5 * (1 + std::abs(held[worker][i])))
            << "seed " << seed << ", update " << update;
      }
    }
  }
}

TEST(WorkerStates, OfOneWorkerAreThatOfAll) {
  TestRig rig;
  const auto own = MakeOptimizer(Nag(1), kCount), shared = MakeOptimizer(Nag(0), kCount);
  std::vector<float> a(kCount), b(kCount);
  for (uint64_t update = 0; update < 50; ++update) {
    std::vector<float> sum = SumOf(GradientAt(Vector(a.begin(), a.end()), update), 4), same = sum;
    ASSERT_TRUE(own->Apply(*rig.device, sum, a, {.weight = 4, .worker = 0}).ok());
    ASSERT_TRUE(shared->Apply(*rig.device, same, b, {.weight = 4}).ok());
    ASSERT_EQ(a, b);
  }
}

TEST(WorkerStates, StayThoseOfTheOthersInAnUpdate) {
  TestRig rig;
  const auto optimizer = MakeOptimizer(Nag(3), kCount);
  ASSERT_EQ(optimizer->state().size(), 3 * kCount);
  std::vector<float> parameters(kCount), sum(kCount, 1);
  ASSERT_TRUE(optimizer->Apply(*rig.device, sum, parameters, {.weight = 1, .worker = 1}).ok());
  for (size_t i = 0; i < 3 * kCount; ++i) {
    EXPECT_EQ(optimizer->state()[i], i / kCount == 1 ? 1 : 0) << i;
  }
}

TEST(WorkerStates, AnUpdateOfNobodyIsRefused) {
  TestRig rig;
  const auto optimizer = MakeOptimizer(Nag(2), kCount);
  std::vector<float> parameters(kCount), sum(kCount, 1);
  EXPECT_EQ(optimizer->Apply(*rig.device, sum, parameters, {.weight = 1}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(optimizer->Apply(*rig.device, sum, parameters, {.weight = 1, .worker = 2}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(optimizer->steps(), 0U);
}

TEST(RateByStaleness, DividesTheRateOfOldGradients) {
  TestRig rig;
  for (const bool fades : {false, true}) {
    const OldGradients treated = fades ? OldGradients::kRate : OldGradients::kAsOthers;
    for (const uint64_t staleness : {0, 1, 2, 7}) {
      const auto optimizer =
          MakeOptimizer({.name = "sgd", .learning_rate = 0.5, .old_gradients = treated}, kCount);
      std::vector<float> parameters(kCount), sum(kCount, 4);
      ASSERT_TRUE(optimizer
                      ->Apply(*rig.device, sum, parameters,
                              {.weight = 2, .rate_factor = 0.1, .staleness = staleness})
                      .ok());
      const double by = fades && staleness > 1 ? static_cast<double>(staleness) : 1;
      EXPECT_FLOAT_EQ(parameters[0], static_cast<float>(-0.1 / by));
    }
  }
}

}  // namespace
}  // namespace motley
