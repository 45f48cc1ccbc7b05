// SPDX-License-Identifier: Apache-2.0
// Imports and exports models in PyTorch's format.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "data/tables/table_schema.h"
#include "tests/data/arrays.h"
#include "tests/training/test_data.h"
#include "training/model_files/model_format.h"
#include "training/model_files/raw_columns.h"
#include "training/model_files/safetensors.h"
#include "training/model_files/torch_tensors.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ModelImport : public testing::Test {
 protected:
  Result<SavedModel> Load(const std::vector<Tensor>& tensors) {
    return LoadModel(folder.Write("model.safetensors", SafetensorsOf(tensors)));
  }
  void ExpectFails(const std::vector<Tensor>& tensors, const std::string& part) {
    const auto loaded = Load(tensors);
    EXPECT_EQ(loaded.code(), StatusCode::kDataError);
    EXPECT_THAT(loaded.status().ToString(), HasSubstr(part));
  }
  const TemporaryFolder folder;
  const Tensor weight{"fc.weight", "F32", "[2,3]", Raw<float>({1, 2, 3, 4, 5, 6})};
  const Tensor bias{"fc.bias", "F32", "[2]", Raw<float>({7, 8})};
};

TEST_F(ModelImport, OneLayerIsASoftmaxWithItsWeightsTurned) {
  const auto saved = Load({bias, weight});
  ASSERT_TRUE(saved.ok()) << saved.status().ToString();
  EXPECT_EQ(saved->spec.name, "softmax");
  EXPECT_EQ(saved->spec.features, 3u);
  EXPECT_THAT(saved->class_labels, ElementsAre(0, 1));
  EXPECT_THAT(saved->parameters, ElementsAre(1, 4, 2, 5, 3, 6, 7, 8));
  EXPECT_EQ(saved->input_scale, 1);
}

TEST_F(ModelImport, LayersFollowTheNumbersInTheirNames) {
  const auto saved = Load({{"net.10.bias", "F64", "[2]", Raw<double>({1, 2})},
                           {"net.10.weight", "F64", "[2,1]", Raw<double>({3, 4})},
                           {"net.2.bias", "BF16", "[1]", Raw<uint16_t>({0x3f80})},
                           {"net.2.weight", "F16", "[1,3]", Raw<uint16_t>({0x3c00, 0, 0xc000})}});
  ASSERT_TRUE(saved.ok()) << saved.status().ToString();
  EXPECT_EQ(saved->spec.name, "mlp:1");
  EXPECT_THAT(saved->parameters, ElementsAre(1, 0, -2, 1, 3, 4, 1, 2));
  EXPECT_TRUE(SaveModel(folder.Path("again"), *saved).ok());
  EXPECT_EQ(LoadModel(folder.Path("again"))->parameters, saved->parameters);
}

// Outputs of `spec` with these parameters for one row.
std::vector<float> OutputsOf(const ModelSpec& spec, const std::vector<float>& parameters,
                             std::vector<float> row) {
  TestRig rig;
  const auto model = MakeModel(spec);
  const Dataset batch{
      .features = spec.features, .classes = spec.classes, .dense = std::move(row), .label = {0}};
  std::vector<float> outputs;
  EXPECT_TRUE(model->Forward(*rig.device, parameters, batch, outputs).ok());
  return outputs;
}

TEST_F(ModelImport, WhatLeavesForTorchComesBack) {
  TableSchema table;
  table.columns = {{.name = "a", .position = 0, .mean = 5, .deviation = 2},
                   {.name = "b", .position = 1, .mean = 7, .deviation = 0},
                   {.name = "k", .position = 2, .text = true, .categories = {"x", "y"}}};
  table.file_columns = 4;
  table.regression = true;
  table.target_mean = 100;
  table.target_deviation = 10;
  for (const char* name : {"linear", "mlp:3", "mlp:3,norm,2"}) {
    SavedModel saved{.spec = {name, 4, 0}, .input_scale = 0.5, .table = ToJson(table)};
    const auto model = MakeModel(saved.spec);
    saved.parameters.resize(model->parameter_count());
    for (size_t i = 0; i < saved.parameters.size(); ++i) {
      saved.parameters[i] = std::sin(static_cast<float>(i + 1));
    }
    const std::string path = folder.Path("torch");
    ASSERT_TRUE(SaveModel(path, saved, saved.parameters, ModelFormat::kTorch).ok());
    const auto again = LoadModel(path);
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    EXPECT_EQ(again->spec.name, name);
    EXPECT_EQ(again->table, saved.table);
    const float raw = 9, scaled = (raw - 5) / 2 * 0.5f;
    const float standard = OutputsOf(saved.spec, saved.parameters, {scaled, 0, 0, 0.5f})[0];
    EXPECT_NEAR(OutputsOf(saved.spec, again->parameters, {scaled, 0, 0, 0.5f})[0], standard, 1e-5);
    std::vector<float> folded = saved.parameters;
    ASSERT_TRUE(FoldScaling(saved, folded).ok());
    EXPECT_NEAR(OutputsOf(saved.spec, folded, {raw, 7, 0, 1})[0], standard * 10 + 100, 1e-3);
  }
}

TEST_F(ModelImport, TensorsOfPyTorchHaveItsNamesAndShapes) {
  const auto shown = [](const ModelSpec& spec) {
    std::string text;
    const auto tensors = TorchTensors(spec);
    EXPECT_TRUE(tensors.ok()) << tensors.status().ToString();
    for (const TorchTensor& tensor : *tensors) {
      text += tensor.name;
      for (const uint64_t extent : tensor.shape) text += " " + std::to_string(extent);
      text += "; ";
    }
    return text;
  };
  EXPECT_EQ(shown({"softmax", 4, 3}), "weight 3 4; bias 3; ");
  EXPECT_EQ(shown({"logistic", 4, 2}), "weight 1 4; bias 1; ");
  EXPECT_EQ(shown({"mlp:8,norm,6", 4, 3}),
            "0.weight 8 4; 0.bias 8; 1.weight 8; 1.bias 8; 3.weight 6 8; 3.bias 6; "
            "5.weight 3 6; 5.bias 3; ");
  EXPECT_EQ(shown({"cnn@4x6x2:5/7", 48, 0}),
            "0.weight 5 2 3 3; 0.bias 5; 4.weight 7 30; 4.bias 7; 6.weight 1 7; 6.bias 1; ");
  EXPECT_EQ(TorchTensors({"factorization:2", 4, 0}).code(), StatusCode::kInvalidArgument);
}

TEST_F(ModelImport, ConvolutionsAreTurnedToChannelsFirst) {
  const ModelSpec spec{"cnn@2x4x2:3", 16, 2};
  const auto tensors = TorchTensors(spec);
  ASSERT_TRUE(tensors.ok());
  std::vector<float> ours(MakeModel(spec)->parameter_count());
  std::iota(ours.begin(), ours.end(), 0.0f);
  std::vector<float> theirs((*tensors)[0].count());
  ToTorch((*tensors)[0], ours, theirs);
  // Output 1, input 1, row 2, column 0: our order is [row, column, input, output].
  EXPECT_EQ(theirs[((1 * 2 + 1) * 3 + 2) * 3 + 0], ours[((2 * 3 + 0) * 2 + 1) * 3 + 1]);
  const TorchTensor& dense = (*tensors)[2];
  // Follows images of 1 x 2 with 3 channels.
  ASSERT_EQ(dense.shape, (std::vector<uint64_t>{2, 6}));
  theirs.resize(dense.count());
  ToTorch(dense, ours, theirs);
  // Output 1, channel 2, column 1: our order is [column, channel, output].
  EXPECT_EQ(theirs[1 * 6 + 2 * 2 + 1], ours[dense.offset + (1 * 3 + 2) * 2 + 1]);
  std::vector<float> back(ours.size(), -1);
  FromTorch(dense, theirs, back);
  EXPECT_TRUE(std::equal(back.begin() + static_cast<ptrdiff_t>(dense.offset),
                         back.begin() + static_cast<ptrdiff_t>(dense.offset + dense.count()),
                         ours.begin() + static_cast<ptrdiff_t>(dense.offset)));
}

TEST_F(ModelImport, ComputesWhatTheLayersSay) {
  const auto saved = Load({weight, bias});
  ASSERT_TRUE(saved.ok());
  TestRig rig;
  const auto model = MakeModel(saved->spec);
  Dataset batch{.features = 3, .classes = 2, .dense = {1, -1, 2}, .label = {0}};
  std::vector<float> outputs;
  ASSERT_TRUE(model->Forward(*rig.device, saved->parameters, batch, outputs).ok());
  EXPECT_THAT(outputs, ElementsAre(1 - 2 + 6 + 7, 4 - 5 + 12 + 8));
}

TEST_F(ModelImport, WhatIsNoPerceptronIsRefusedWithWhatWouldBe) {
  ExpectFails({weight}, "'fc.weight' has no bias; imported are layers NAME.weight and NAME.bias");
  ExpectFails({weight, bias, {"bn.mean", "F32", "[1]", Raw<float>({1})}}, "3 tensors, of which 1");
  ExpectFails({{"c.weight", "F32", "[1,1,2]", Raw<float>({1, 2})},
               {"c.bias", "F32", "[1]", Raw<float>({1})}},
              "'c.weight' has shape (1, 1, 2)");
  ExpectFails(
      {{"a.weight", "F32", "[2,1]", Raw<float>({1, 2})}, {"a.bias", "F32", "[1]", Raw<float>({1})}},
      "its bias do not fit");
  ExpectFails({weight,
               bias,
               {"g.weight", "F32", "[2,3]", weight.data},
               {"g.bias", "F32", "[2]", bias.data}},
              "takes 3 values but 'fc.weight' before it makes 2");
  ExpectFails({{"fc1.weight", "F32", "[2,2]", Raw<float>({1, 2, 3, 4})},
               {"fc1.bias", "F32", "[2]", bias.data},
               {"fc2.weight", "F32", "[2,2]", Raw<float>({1, 2, 3, 4})},
               {"fc2.bias", "F32", "[2]", bias.data},
               {"norm1.weight", "F32", "[2]", bias.data},
               {"norm1.bias", "F32", "[2]", bias.data},
               {"out.weight", "F32", "[2,2]", Raw<float>({1, 2, 3, 4})},
               {"out.bias", "F32", "[2]", bias.data}},
              "'norm1.weight' has a smaller number than 'fc2.weight'");
  ExpectFails(
      {{"a.weight", "F32", "[1,2]", Raw<float>({1, 2})}, {"a.bias", "F32", "[1]", Raw<float>({1})}},
      "are not a classifier");
  ExpectFails({{"a.weight", "I32", "[2,1]", Raw<int32_t>({1, 2})},
               {"a.bias", "F32", "[2]", Raw<float>({1, 2})}},
              "can be imported");
  ExpectFails({weight, {"fc.bias", "F32", "[2]", Raw<float>({1, NAN})}}, "'fc.bias', value 1: nan");
  ExpectFails(
      {{"layer0.weight", "F32", "[2,3]", weight.data}, {"layer0.bias", "F32", "[2]", bias.data}},
      "was not saved by motley");
}

}  // namespace
}  // namespace motley
