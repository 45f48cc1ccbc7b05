// SPDX-License-Identifier: Apache-2.0
// Models as PyTorch saves them.
#include <gmock/gmock.h>

#include "tests/training/arrays.h"
#include "tests/training/test_data.h"
#include "training/safetensors.h"

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
  ExpectFails({weight}, "'fc.weight' has no bias; imported are fully connected layers");
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
  ExpectFails(
      {{"a.weight", "F32", "[1,2]", Raw<float>({1, 2})}, {"a.bias", "F32", "[1]", Raw<float>({1})}},
      "make no classifier");
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
