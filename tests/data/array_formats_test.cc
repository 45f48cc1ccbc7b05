// SPDX-License-Identifier: Apache-2.0
// Samples from NPY, NPZ and safetensors files.
#include <gmock/gmock.h>

#include <limits>

#include "data/readers.h"
#include "tests/data/arrays.h"
#include "tests/data/gzip.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Arrays : public testing::Test {
 protected:
  TrainingData Read(const std::string& spec, const ReadOptions& options = {}) {
    auto data = ReadTrainingData(spec, options);
    EXPECT_TRUE(data.ok()) << data.status().ToString();
    return data.ok() ? *std::move(data) : TrainingData{};
  }
  void ExpectFails(const std::string& spec, const std::string& part,
                   StatusCode code = StatusCode::kDataError) {
    const auto data = ReadTrainingData(spec, {});
    EXPECT_EQ(data.code(), code) << spec << ": " << data.status().ToString();
    EXPECT_THAT(data.status().ToString(), HasSubstr(part));
  }
  std::string Labelled(const std::string& x, const std::string& y) {
    return folder.Write("x.npy", x) + ":labels=" + folder.Write("y.npy", y);
  }

  const TemporaryFolder folder;
  const std::string labels = Npy("<i8", "(2,)", Raw<int64_t>({7, -3}));
};

TEST_F(Arrays, LastColumnOfAnNpyFileIsTheLabel) {
  const auto data = Read(
      folder.Write("a.npy", Npy("<f8", "(3, 3)", Raw<double>({1, 2.5, 4, -3, 4, 9, 0, 1e-3, 4}))));
  EXPECT_EQ(data.train.features, 2u);
  EXPECT_THAT(data.train.dense, ElementsAre(1, 2.5f, -3, 4, 0, 1e-3f));
  EXPECT_THAT(data.train.label, ElementsAre(0, 1, 0));
  EXPECT_THAT(data.class_labels, ElementsAre(4, 9));
}

TEST_F(Arrays, LabelsInTheLastColumnStayExactWhereAFloatWouldMergeThem) {
  constexpr int64_t kLarge = (1 << 24) + 1;
  const auto whole = Read(
      folder.Write("a.npy", Npy("<i8", "(3, 2)", Raw<int64_t>({1, kLarge, 2, kLarge - 1, 3, 0}))));
  EXPECT_THAT(whole.class_labels, ElementsAre(0, kLarge - 1, kLarge));
  EXPECT_THAT(whole.train.label, ElementsAre(2, 1, 0));
  EXPECT_THAT(whole.train.dense, ElementsAre(1, 2, 3));
  const auto real =
      Read(folder.Write("b.npy", Npy("<f8", "(2, 2)", Raw<double>({1, kLarge, 2, kLarge - 1}))));
  EXPECT_THAT(real.class_labels, ElementsAre(kLarge - 1, kLarge));
  constexpr int64_t kTooLarge = (int64_t{1} << 53) + 1;
  ExpectFails(
      folder.Write("c.npy", Npy("<i8", "(2, 2)", Raw<int64_t>({kTooLarge, 1, 2, kTooLarge}))),
      "c.npy: sample 1, label: 9007199254740993 is too large for a label");
}

TEST_F(Arrays, LabelsBesideAreNamedInTheSpec) {
  std::string x(2 * 2 * 3, '\0');
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<char>(200 + i);
  const std::string spec = Labelled(Npy("|u1", "(2, 2, 3)", x), labels);
  const auto data = Read(spec);
  EXPECT_EQ(data.train.features, 6u);  // Images are flattened.
  EXPECT_EQ(data.train.dense[7], 207);
  EXPECT_THAT(data.class_labels, ElementsAre(-3, 7));
  EXPECT_THAT(data.train.label, ElementsAre(1, 0));
  const auto both = Read(spec + ":test=" + spec);
  EXPECT_EQ(both.test->dense, both.train.dense);
  EXPECT_EQ(both.test->label, both.train.label);
  ExpectFails(folder.Path("x.npy"), "has shape (2, 2, 3) and no labels beside it");
}

TEST_F(Arrays, EveryTypeOfNumberIsRead) {
  const auto expect = [&](const std::string& type, const std::string& raw,
                          const std::vector<float>& values) {
    const auto data = Read(Labelled(Npy(type, "(2, 1)", raw), labels));
    EXPECT_EQ(data.train.dense, values) << type;
  };
  expect("<f4", Raw<float>({0.5f, -2}), {0.5f, -2});
  expect(">f4", std::string("\x3f\x00\x00\x00\xc0\x00\x00\x00", 8), {0.5f, -2});
  expect("<f2", Raw<uint16_t>({0x3c00, 0x0001}), {1, 5.9604645e-8f});
  expect(">f8", std::string("\x3f\xe0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16), {0.5f, -2});
  expect("|i1", "\x80\x7f", {-128, 127});
  expect(">i2", std::string("\x80\x00\x7f\xff", 4), {-32768, 32767});
  expect("<i4", Raw<int32_t>({-70000, 5}), {-70000, 5});
  expect("<i8", Raw<int64_t>({int64_t{-1} << 40, 5}), {-1.0995116e12f, 5});
  expect("<u2", Raw<uint16_t>({65535, 1}), {65535, 1});
  expect("<u4", Raw<uint32_t>({~0u, 1}), {4294967296.0f, 1});
  expect("<u8", Raw<uint64_t>({~uint64_t{0}, 1}), {1.8446744e19f, 1});
  expect("|b1", std::string("\1\0", 2), {1, 0});
}

TEST_F(Arrays, HeadersOfAllVersionsAreUnderstood) {
  const std::string data = Raw<float>({1, 0, 2, 1});
  for (const char version : {1, 2, 3}) {
    const std::string dict = "{\"shape\": (2,2) , 'fortran_order':False,'descr':'<f4'}";
    EXPECT_THAT(Read(folder.Write("a", NpyWith(dict, data, version))).train.dense,
                ElementsAre(1, 2));
  }
  EXPECT_THAT(Read(folder.Write("a.npy.gz", GzipText(Npy("<f4", "(2, 2)", data)))).train.dense,
              ElementsAre(1, 2));
  const std::string column =
      NpyWith("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }", Raw<float>({1, 2}));
  EXPECT_THAT(Read(Labelled(column, labels)).train.dense, ElementsAre(1, 2));
}

TEST_F(Arrays, TypesThatAreNoNumbersAreRefusedWithAdvice) {
  const auto expect = [&](const std::string& type, const std::string& part) {
    ExpectFails(folder.Write("a.npy", Npy(type, "(2, 2)", std::string(64, '\0'))), part);
  };
  expect("|O", "a.npy: its dtype is '|O': Python objects; save numbers");
  expect("<c8", "complex numbers");
  expect("<U3", "text; save numbers");
  expect("|S4", "text; save numbers");
  expect("<M8[ns]", "dates or times");
  expect("<f16", "not of a size that is understood");
  expect("<x4", "not a type that is understood");
  ExpectFails(folder.Write("a", NpyWith("{'descr': [('a', '<f4')], 'fortran_order': False, "
                                        "'shape': (2,), }",
                                        "12345678")),
              "records");
}

// numpy.asfortranarray stores one column after the other.
TEST_F(Arrays, FortransOrderIsTurnedRound) {
  const auto array = [](const std::string& shape, int count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i);
    return NpyWith("{'descr': '<f4', 'fortran_order': True, 'shape': " + shape + ", }",
                   Raw<float>(values));
  };
  EXPECT_THAT(Read(folder.Write("a", array("(2, 3)", 6))).train.dense, ElementsAre(0, 2, 1, 3));
  const std::string two = Npy("<i8", "(2,)", Raw<int64_t>({0, 1}));
  EXPECT_THAT(Read(Labelled(array("(2, 2, 3)", 12), two)).train.dense,
              ElementsAre(0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11));
  ExpectFails(folder.Write("a", array("(3, 3)", 6)), "is truncated");
}

TEST_F(Arrays, HeadersThatCannotBeAreRefused) {
  for (const char* dict :
       {"", "{", "{}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [2, 2]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 9999999999999)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 2)}"}) {
    ExpectFails(folder.Write("a", NpyWith(dict, std::string(16, '\0'))), folder.Path("a"));
  }
  ExpectFails(folder.Write("a", "\x93NUMPY\x04"), "does not start with");
  ExpectFails(folder.Write("a", NpyWith("{}", "", 4)), "version 4.0");
  std::string endless = NpyWith("{}", "", 2);
  endless[10] = 2;
  ExpectFails(folder.Write("a", endless), "the limit is 65536");
  const std::string good = Npy("<f4", "(2, 2)", Raw<float>({1, 0, 2, 1}));
  ExpectFails(folder.Write("a", good.substr(0, 40)), "truncated inside its header");
  ExpectFails(folder.Write("a", good.substr(0, good.size() - 1)), "truncated: its shape is (2, 2)");
  ExpectFails(folder.Write("a", good + "x"), "bytes after the end");
}

TEST_F(Arrays, ValuesThatNoFloatHoldsAreNamedByTheirPlace) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto x = [&](double value) { return Npy("<f8", "(2, 2)", Raw<double>({1, 2, 3, value})); };
  ExpectFails(Labelled(x(NAN), labels), "x.npy: sample 1, value 1: nan is not a finite number");
  ExpectFails(Labelled(x(-infinity), labels), "sample 1, value 1: -inf");
  ExpectFails(Labelled(x(1e39), labels), "sample 1, value 1: 1e+39");
  ExpectFails(Labelled(Npy("|b1", "(2, 1)", "\1\2"), labels), "neither true nor false");
  ExpectFails(Labelled(x(1), Npy("<f4", "(2,)", Raw<float>({0, NAN}))), "y.npy: label 1: nan");
  ExpectFails(Labelled(x(1), Npy("<i8", "(2,)", Raw<int64_t>({0, int64_t{1} << 60}))),
              "too large for a label");
}

TEST_F(Arrays, LabelsOfOtherShapesAreRefused) {
  const std::string x = Npy("<f4", "(2, 1)", Raw<float>({1, 2}));
  ExpectFails(Labelled(x, Npy("<f4", "(2, 3)", Raw<float>({1, 0, 0, 0, 1, 0}))), "numpy.argmax");
  ExpectFails(Labelled(x, Npy("<f4", "(3,)", Raw<float>({1, 0, 0}))),
              "has 2 samples, but there are 3 labels");
  ExpectFails(Labelled(x, Npy("<f4", "()", Raw<float>({1}))), "labels have shape (samples)");
  EXPECT_EQ(Read(Labelled(x, Npy("|u1", "(2, 1)", "\1\2"))).train.rows(), 2u);
  ExpectFails(folder.Write("a.csv", "1,0\n2,1\n") + ":labels=" + folder.Path("y.npy"),
              "has its labels inside", StatusCode::kInvalidArgument);
}

TEST_F(Arrays, NpzHoldsFeaturesAndLabelsByName) {
  const std::string x = Npy("<f4", "(2, 2)", Raw<float>({1, 2, 3, 4}));
  const std::string more = Npy("<f4", "(1, 2)", Raw<float>({5, 6}));
  const std::string one = Npy("|u1", "(1,)", "\7");
  for (const int method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
    for (const auto& [name, label] :
         {std::pair("x", "y"), std::pair("X_train", "y_train"), std::pair("features", "labels"),
          std::pair("arr_0", "arr_1")}) {
      const auto data = Read(folder.Write(
          "a.npz",
          Zip({{name + std::string(".npy"), x}, {label + std::string(".npy"), labels}}, method)));
      EXPECT_THAT(data.train.dense, ElementsAre(1, 2, 3, 4)) << name;
      EXPECT_THAT(data.train.label, ElementsAre(1, 0));
      EXPECT_FALSE(data.test);
    }
  }
  const std::string both = folder.Write("b.npz", Zip({{"y_test.npy", one},
                                                      {"x_test.npy", more},
                                                      {"x_train.npy", x},
                                                      {"y_train.npy", labels}}));
  const auto data = Read(both);
  ASSERT_TRUE(data.test);
  EXPECT_THAT(data.test->dense, ElementsAre(5, 6));
  EXPECT_THAT(data.test->label, ElementsAre(1));
  EXPECT_THAT(ReadLabelled(both, {}, {-3, 7}, 2)->dense, ElementsAre(5, 6));
  EXPECT_EQ(Read(both + ":test=" + both).test->rows(), 2u);  // The named test file wins.
  EXPECT_THAT(Read(folder.Write("c", Zip({{"any.npy", x}}))).train.dense, ElementsAre(1, 3));
}

TEST_F(Arrays, NpzFilesThatCannotBeReadAreRefusedWithAdvice) {
  const std::string x = Npy("<f4", "(2, 2)", Raw<float>({1, 2, 3, 4}));
  const auto zip = [&](const std::string& text) { return folder.Write("a.npz", text); };
  ExpectFails(zip(Zip({{"x.npy", x}, {"y.npy", labels}}, ZIP_CM_DEFLATE, "word")), "is encrypted");
  ExpectFails(zip(Zip({{"x.npy", x}, {"y.npy", labels}}, ZIP_CM_BZIP2)), "numpy.savez");
  ExpectFails(zip(Zip({{"a.npy", x}, {"b.npy", labels}})), "has the arrays a, b; name them");
  ExpectFails(zip(Zip({{"a.txt", x}})), "has the arrays (none)");
  ExpectFails(zip(Zip({{"x.npy", x + "1"}, {"y.npy", labels}})), "has bytes after its end");
  ExpectFails(zip(Zip({{"x.npy", "text"}, {"y.npy", labels}})), "array 'x': is not an NPY file");
  std::string damaged = Zip({{"x.npy", x}, {"y.npy", labels}}, ZIP_CM_STORE);
  damaged[damaged.find(Raw<float>({3, 4}))] ^= 1;
  ExpectFails(zip(damaged), "array 'x': damaged: CRC error");
  const std::string good = Zip({{"x.npy", x}, {"y.npy", labels}});
  ExpectFails(zip(good.substr(0, good.size() / 2)), "cannot be opened");
}

TEST_F(Arrays, SafetensorsHoldFeaturesAndLabelsByName) {
  const Tensor x{"x", "F32", "[2,2]", Raw<float>({1, 2, 3, 4})};
  const Tensor y{"y", "I64", "[2]", Raw<int64_t>({7, -3})};
  for (const auto& tensors : {std::vector<Tensor>{x, y}, std::vector<Tensor>{y, x}}) {
    for (const bool packed : {false, true}) {
      const std::string text = SafetensorsOf(tensors);
      const auto data = Read(folder.Write("a", packed ? GzipText(text) : text));
      EXPECT_THAT(data.train.dense, ElementsAre(1, 2, 3, 4));
      EXPECT_THAT(data.train.label, ElementsAre(1, 0));
    }
  }
  const auto brain = Read(folder.Write(
      "b", SafetensorsOf({{"x", "BF16", "[2,1]", Raw<uint16_t>({0x3f80, 0xc040})}, y})));
  EXPECT_THAT(brain.train.dense, ElementsAre(1, -3));
  ExpectFails(folder.Write("c", SafetensorsOf({x, y}).substr(0, 150)), "truncated");
  ExpectFails(folder.Write("d", SafetensorsOf({x, {"z", "I64", "[2]", y.data}})),
              "has the arrays x, z");
}

}  // namespace
}  // namespace motley
