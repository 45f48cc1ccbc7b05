// SPDX-License-Identifier: Apache-2.0
#include "data/readers.h"

#include <gmock/gmock.h>

#include "data/formats/csv_line.h"
#include "tests/data/gzip.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Expects reading `spec` to fail with `code` and a message that contains `part`.
void ExpectFails(const std::string& spec, StatusCode code, const std::string& part,
                 const ReadOptions& options = {}) {
  const auto data = ReadTrainingData(spec, options);
  EXPECT_EQ(data.code(), code) << spec << ": " << data.status().ToString();
  EXPECT_THAT(data.status().ToString(), HasSubstr(part));
}

TrainingData Read(const std::string& spec, const ReadOptions& options = {}) {
  auto data = ReadTrainingData(spec, options);
  EXPECT_TRUE(data.ok()) << data.status().ToString();
  return data.ok() ? *std::move(data) : TrainingData{};
}

TEST(Csv, LastColumnIsTheLabelByDefault) {
  const TemporaryFolder folder;
  const auto data = Read(folder.Write("a.csv", "1,2,5\n3,4.5,9\r\n-1e2,+7,5\n"));
  EXPECT_EQ(data.train.features, 2u);
  EXPECT_EQ(data.train.classes, 2u);
  EXPECT_FALSE(data.train.sparse);
  EXPECT_THAT(data.train.dense, ElementsAre(1, 2, 3, 4.5, -100, 7));
  EXPECT_THAT(data.train.label, ElementsAre(0, 1, 0));
  EXPECT_THAT(data.class_labels, ElementsAre(5, 9));
  EXPECT_FALSE(data.test.has_value());
}

TEST(Csv, LabelIsFoundByNameOrIndex) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.csv", "size,kind,\"the width\"\n1,0,2\n3,1,4\n");
  for (const char* label : {"kind", "1"}) {
    const auto data = Read(path, {.label = label});
    EXPECT_THAT(data.train.dense, ElementsAre(1, 2, 3, 4)) << label;
    EXPECT_THAT(data.train.label, ElementsAre(0, 1)) << label;
  }
  EXPECT_THAT(Read(path, {.label = "the width"}).train.dense, ElementsAre(1, 0, 3, 1));
  ExpectFails(path, StatusCode::kNotFound, "did you mean 'kind'", {.label = "kin"});
  ExpectFails(path, StatusCode::kNotFound, "0 to 2", {.label = "3"});
}

TEST(Csv, NumericNamesOfColumnsComeBeforeIndices) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.csv", "2,1,x\n5,0,7\n6,1,8\n");
  EXPECT_THAT(Read(path, {.label = "1"}).train.dense, ElementsAre(5, 7, 6, 8));
  EXPECT_THAT(Read(path, {.label = "2"}).class_labels, ElementsAre(5, 6));
}

OpenedData Opened(const std::string& path, const ReadOptions& options = {}) {
  auto data = OpenTrainingData(path, options);
  EXPECT_TRUE(data.ok()) << data.status().ToString();
  return data.ok() ? *std::move(data) : OpenedData{};
}

// pandas.DataFrame(X).to_csv(index=False) writes 0,1,2,... for columns without names.
TEST(Csv, AFirstLineThatCountsTheColumnsIsNoSample) {
  const TemporaryFolder folder;
  const std::string wide = folder.Write("wide.csv", "0,1,2,3\n9,8,7,1\n5,6,7,0\n");
  EXPECT_THAT(Read(wide).train.dense, ElementsAre(9, 8, 7, 5, 6, 7));
  EXPECT_THAT(Read(wide).class_labels, ElementsAre(0, 1));
  EXPECT_THAT(Opened(wide).names, ElementsAre("0", "1", "2"));
  EXPECT_THAT(Opened(wide).notes,
              ElementsAre(HasSubstr("wide.csv, 0 to 3, is taken for the names")));
  EXPECT_THAT(Read(wide, {.label = "1"}).train.dense, ElementsAre(9, 7, 1, 5, 7, 0));
  // With few columns the next line decides: a fraction means that the first line has names.
  const std::string narrow = folder.Write("narrow.csv", "0,1\r\n0.5,1\r\n2,0\r\n");
  EXPECT_THAT(Read(narrow).train.dense, ElementsAre(0.5f, 2));
  EXPECT_THAT(Opened(narrow).notes, ElementsAre(HasSubstr("0 to 1")));
  ExpectFails(folder.Write("bad.csv", "0,1,2\n0.5,x,1\n"), StatusCode::kDataError,
              "bad.csv:2: column 1 (1): 'x' is not a number");
}

TEST(Csv, AFirstSampleThatCountsStaysASample) {
  const TemporaryFolder folder;
  const std::string ints = folder.Write("ints.csv", "0,1\n1,0\n");
  EXPECT_THAT(Read(ints).train.dense, ElementsAre(0, 1));
  EXPECT_THAT(Read(ints).train.label, ElementsAre(1, 0));
  EXPECT_THAT(Opened(ints).notes, IsEmpty());
  const ReadOptions numbers{.regression = true};
  EXPECT_THAT(Read(folder.Write("one.csv", "0,1,2\n"), numbers).train.dense, ElementsAre(0, 1));
  EXPECT_THAT(Read(folder.Write("end.csv", "0,1,2\n\n"), numbers).train.label, ElementsAre(2));
  const std::string others = folder.Write("others.csv", "0,1,2,4\n1,2,3,5\n");
  EXPECT_EQ(Read(others).train.rows(), 2u);
  ExpectFails(folder.Write("three.csv", "0,1,2\n1,2,3\n1,x,3\n"), StatusCode::kDataError,
              "three.csv:3: column 1 (the first is 0): 'x'");
}

TEST(Csv, TheOnlyColumnNamedLikeALabelIsTheLabel) {
  const TemporaryFolder folder;
  for (const char* name : {"label", "Target", "CLASS", "y"}) {
    const std::string text = std::string(name) + ",a,b\n1,2,3\n0,5,6\n";
    const std::string path = folder.Write("first.csv", text);
    EXPECT_THAT(Read(path).train.dense, ElementsAre(2, 3, 5, 6)) << name;
    EXPECT_THAT(Read(path).train.label, ElementsAre(1, 0)) << name;
    EXPECT_THAT(Opened(path).notes,
                ElementsAre(HasSubstr("column '" + std::string(name) + "' of")));
    EXPECT_THAT(Read(path, {.label = "b"}).train.dense, ElementsAre(1, 2, 0, 5)) << name;
    EXPECT_THAT(Opened(path, {.label = "b"}).notes, IsEmpty());
  }
  // Data for prediction have the layout of the model's data, so the same rule applies.
  const auto known = ReadLabelled(folder.Write("more.csv", "y,a\n7,1\n5,2\n"), {}, {5, 7}, 1);
  ASSERT_TRUE(known.ok());
  EXPECT_THAT(known->label, ElementsAre(1, 0));
}

TEST(Csv, TheLastColumnIsTheLabelWhereNamesDoNotDecide) {
  const TemporaryFolder folder;
  const std::string last = folder.Write("last.csv", "a,b,label\n2,3,1\n5,6,0\n");
  EXPECT_THAT(Read(last).train.label, ElementsAre(1, 0));
  EXPECT_THAT(Opened(last).notes, IsEmpty());
  EXPECT_THAT(Opened(last).names, ElementsAre("a", "b"));
  const std::string two = folder.Write("two.csv", "class,y,b\n2,3,1\n5,6,0\n");
  EXPECT_THAT(Read(two).train.dense, ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(Opened(two).notes,
              ElementsAre(HasSubstr("2 columns with names of a label; the last")));
  const std::string points = folder.Write("points.csv", "x,Y,kind\n2,3,1\n5,6,0\n");
  EXPECT_THAT(Read(points).train.dense, ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(Opened(points).notes, IsEmpty());
  const std::string none = folder.Write("none.csv", "labels,yes,b\n2,3,1\n5,6,0\n");
  EXPECT_THAT(Read(none).train.label, ElementsAre(1, 0));
  EXPECT_THAT(Opened(none).notes, IsEmpty());
}

TEST(Csv, DelimitersQuotesBlanksAndByteOrderMarkAreTaken) {
  const TemporaryFolder folder;
  for (const char* text : {"1;2;0\n3;4;1\n", "1\t2\t0\n3\t4\t1",
                           "\xEF\xBB\xBF 1 , 2,0\n\n3,4,1\n\n", "\"1\",\"2\",\"0\"\n\"3\",4,1\n"}) {
    const auto data = Read(folder.Write("a.csv", text));
    EXPECT_THAT(data.train.dense, ElementsAre(1, 2, 3, 4)) << text;
    EXPECT_THAT(data.train.label, ElementsAre(0, 1)) << text;
  }
}

TEST(Csv, ColonsInNamesMakeNoLibsvmFile) {
  const TemporaryFolder folder;
  for (const char* text : {"the a:b,kind\n1,0\n3,1\n", "the a:b;kind\n1;0\n3;1\n"}) {
    EXPECT_THAT(Read(folder.Write("a.csv", text)).train.dense, ElementsAre(1, 3)) << text;
  }
}

TEST(Csv, ErrorsNameFileLineAndColumn) {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& text, const std::string& part) {
    ExpectFails(folder.Write("b.csv", text), StatusCode::kDataError, part);
  };
  expect("1,2,0\n1,x,1\n", "b.csv:2: column 1 (the first is 0): 'x' is not a number");
  expect("a,b,c\n1,2,0\n1,nan,1\n", "b.csv:3: column 1 (b): 'nan' is not a finite number");
  expect("nan,2,0\n1,2,1\n", "b.csv:1: column 0");
  expect("1,inf,0\n1,2,1\n", "b.csv:1: column 1");
  expect("1,NA,0\n1,2,1\n", "b.csv:1: column 1 (the first is 0): 'NA' is not a number");
  expect("n/a,2,0\n1,2,1\n", "b.csv:1: column 0 (the first is 0): 'n/a' is not a number");
  expect("1,null,0\n1,2,1\n", "b.csv:1: column 1 (the first is 0): 'null' is not a number");
  expect("1,1e39,0\n1,2,1\n", "b.csv:1: column 1");
  expect("1,1e999,0\n1,2,1\n", "b.csv:1: column 1");
  expect("1,,0\n1,2,1\n", "b.csv:1: column 1 (the first is 0): a value is missing");
  expect("1,2,0\n1,2\n", "b.csv:2: 2 columns where the first line has 3");
  expect("1,2,0\n1,2,3,1\n", "b.csv:2: 4 columns");
  expect("1,2,0\n1,\"2,1\n", "b.csv:2: a quote is not closed");
  expect("1\n2\n", "b.csv:1: only one column");
  expect("a,b\n", "holds no samples");
  expect("\n\n", "holds no samples");
  expect("", "the file is empty");
  expect(std::string("1,2\0,3\n", 7), "LIBSVM nor CSV");
  expect("1,0x10,0\n1,2,1\n", "'0x10' is not a number");
  expect("1,+-2,0\n1,2,1\n", "'+-2' is not a number");
}

TEST(Csv, QuotesCountAtTheStartOfAFieldAlone) {
  const auto fields = [](std::string_view line, char delimiter = ',') {
    CsvFields cut;
    EXPECT_TRUE(cut.Split(line, delimiter)) << line;
    return std::vector<std::string>(cut.all().begin(), cut.all().end());
  };
  EXPECT_THAT(fields("1, 2 ,,"), ElementsAre("1", "2", "", ""));
  EXPECT_THAT(fields(""), ElementsAre(""));
  EXPECT_THAT(fields(R"( "a,b" ,"","c ""d"", e","""""")"),
              ElementsAre("a,b", "", "c \"d\", e", "\"\""));
  EXPECT_THAT(fields(R"(5" pipe,6", 7"","x"y)"), ElementsAre("5\" pipe", "6\"", "7\"\"", "\"x\"y"));
  EXPECT_THAT(fields("\"a\tb\"\t\"c\"", '\t'), ElementsAre("a\tb", "c"));
  CsvFields open;
  EXPECT_FALSE(open.Split("1,\"2", ','));
}

TEST(Csv, FieldsInQuotesMayGoOverLines) {
  const TemporaryFolder folder;
  const auto data = Read(folder.Write("a.csv", "\"first\nname\",b,y\n1,2,0\r\n3,4,1\n"));
  EXPECT_THAT(data.train.dense, ElementsAre(1, 2, 3, 4));
  const auto expect = [&](const std::string& text, const std::string& part) {
    ExpectFails(folder.Write("b.csv", text), StatusCode::kDataError, part);
  };
  expect("1,2,0\n\"1,2,0\n3,4,1\n", "b.csv:2: a quote is not closed");
  // The second quote opens another field. No lines between them may get lost.
  expect("1,2,0\n\"1,2,0\n3,4,1\n\"5\",6,1\n", "b.csv:2: a quote is not closed");
  expect("1,2,0\n\"" + std::string(size_t{1} << 20, ' ') + "\n\",2,0\n",
         "b.csv:2: a quote is not closed");
  expect("\"first\n\nname\",b,y\r\n1,2,0\n1,x,0\n", "b.csv:5: column 1 (b)");
}

TEST(Csv, ValuesTooSmallForAFloatAreZero) {
  const TemporaryFolder folder;
  const auto data = Read(folder.Write("a.csv", "1e-60,0\n-1e-9999,1\n"));
  EXPECT_THAT(data.train.dense, ElementsAre(0, 0));
}

TEST(Libsvm, EntriesCommentsAndLabelsAreRead) {
  const TemporaryFolder folder;
  const auto data =
      Read(folder.Write("a", "# made up\n+1 1:0.5 4:2 # note\n\n-1\n-1\t3:-1e-1  \n"));
  EXPECT_TRUE(data.train.sparse);
  EXPECT_EQ(data.train.features, 4u);
  EXPECT_THAT(data.train.row_begin, ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(data.train.column, ElementsAre(0, 3, 2));
  EXPECT_THAT(data.train.value, ElementsAre(0.5f, 2, -0.1f));
  EXPECT_THAT(data.train.label, ElementsAre(1, 0, 0));
  EXPECT_THAT(data.class_labels, ElementsAre(-1, 1));
}

TEST(Libsvm, FeaturesAreTheLargestIndexOfBothFiles) {
  const TemporaryFolder folder;
  const std::string small = folder.Write("small", "1 1:1\n0 2:1\n");
  const std::string large = folder.Write("large", "1 9:1\n0 2:1\n");
  for (const auto& spec : {small + ":test=" + large, large + ":test=" + small}) {
    const auto data = Read(spec);
    EXPECT_EQ(data.train.features, 9u);
    EXPECT_EQ(data.test->features, 9u);
  }
}

TEST(Libsvm, ErrorsNameFileAndLine) {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& text, const std::string& part) {
    ExpectFails(folder.Write("b", text), StatusCode::kDataError, part);
  };
  expect("1 1:1\n1 0:1\n", "b:2: the index 0");
  expect("1 3:1 2:1\n", "b:1: index 2 comes after 3");
  expect("1 2:1 2:1\n", "b:1: index 2 comes after 2");
  expect("1 2:1 3\n", "b:1: '3' is not INDEX:VALUE");
  expect("1 2:1 :3\n", "b:1: ':3' is not INDEX:VALUE");
  expect("1 -2:1\n", "b:1: '-2:1' is not INDEX:VALUE");
  expect("1 qid:4 2:1\n", "b:1: 'qid:4' is not INDEX:VALUE");
  expect("1 2:\n", "b:1: a value is missing");
  expect("1 2:nan\n", "b:1: 'nan' is not a finite number");
  expect("1 2:1:3\n", "b:1: '1:3' is not a number");
  expect("x 2:1\n", "b:1: 'x' is not a number");
  expect("1,2 2:1\n", "b:1: '1,2' is not a number");
  expect("1 4294967297:1\n", "b:1: the index of '4294967297:1' is above");
  expect("1 200000000:1\n", "b:1: the index of '200000000:1' is above");
}

TEST(Labels, ClassesAreTheDistinctLabelsOfBothFilesAscending) {
  const TemporaryFolder folder;
  const std::string train = folder.Write("train", "1,7\n2,-3\n");
  const std::string test = folder.Write("test", "1,5\n2,7\n");
  const auto data = Read(train + ":test=" + test);
  EXPECT_THAT(data.class_labels, ElementsAre(-3, 5, 7));
  EXPECT_THAT(data.train.label, ElementsAre(2, 0));
  EXPECT_THAT(data.test->label, ElementsAre(1, 2));
  EXPECT_EQ(data.test->classes, 3u);
}

TEST(Labels, QuantitiesHintAtRegression) {
  const TemporaryFolder folder;
  ExpectFails(folder.Write("a", "1,2\n2,0.5\n"), StatusCode::kDataError,
              "a:2: the label 0.5 is not a whole number; if the labels are quantities, use "
              "`model` linear");
  std::string many;
  for (int i = 0; i <= 10000; ++i) many += "1," + std::to_string(i) + "\n";
  ExpectFails(folder.Write("b", many), StatusCode::kDataError, "b:10001: more than 10000");
  ExpectFails(folder.Write("c", "1,2\n2,2\n"), StatusCode::kDataError, "every label is 2");
}

TEST(Labels, RegressionKeepsThemAsTheyAre) {
  const TemporaryFolder folder;
  const auto data = Read(folder.Write("a", "1,2\n2,0.5\n"), {.regression = true});
  EXPECT_EQ(data.train.classes, 0u);
  EXPECT_THAT(data.train.label, ElementsAre(2, 0.5));
  EXPECT_THAT(data.class_labels, IsEmpty());
}

TEST(Readers, MissingFilesAndEmptySpecsAreNamed) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a", "1,2\n2,0\n");
  ExpectFails(folder.Path("none.csv"), StatusCode::kNotFound, "none.csv");
  ExpectFails(path + ":test=" + folder.Path("gone"), StatusCode::kNotFound, "gone");
  ExpectFails(path + "/below", StatusCode::kNotFound, "below");
  ExpectFails("", StatusCode::kInvalidArgument, "PATH");
  ExpectFails(path + ":test=", StatusCode::kInvalidArgument, "PATH:test=FILE");
  ExpectFails(path + ":test=" + folder.Path(""), StatusCode::kInvalidArgument, "folder");
  ExpectFails(path + ":label=" + path, StatusCode::kInvalidArgument, "X.npy:labels=Y.npy");
}

TEST(Readers, TrainAndTestThatDoNotMatchAreRefused) {
  const TemporaryFolder folder;
  const std::string two = folder.Write("two", "1,2,0\n2,3,1\n");
  const std::string one = folder.Write("one", "1,0\n2,1\n");
  const std::string sparse = folder.Write("sparse", "1 1:2\n0 1:3\n");
  ExpectFails(two + ":test=" + one, StatusCode::kDataError, "has 2 features but");
  ExpectFails(two + ":test=" + sparse, StatusCode::kDataError, "is LIBSVM");
  const std::string names = folder.Write("names", "a,b,y\n1,2,0\n3,4,1\n");
  const std::string swapped = folder.Write("swapped", "b,a,y\n1,2,0\n");
  ExpectFails(names + ":test=" + swapped, StatusCode::kDataError, "feature 0 is 'a' in");
  EXPECT_TRUE(ReadTrainingData(names + ":test=" + two, {}).ok());
}

TEST(Readers, LabelColumnIsRefusedWhereThereAreNone) {
  const TemporaryFolder folder;
  ExpectFails(folder.Write("sparse", "1 1:2\n0 1:3\n"), StatusCode::kInvalidArgument, "`label`",
              {.label = "1"});
}

TEST(ReadLabelled, MapsLabelsToTheModelsClasses) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a", "1,9\n2,5\n");
  const auto data = ReadLabelled(path, {}, {1, 5, 9}, 1);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ(data->classes, 3u);
  EXPECT_THAT(data->label, ElementsAre(2, 1));
  const auto foreign = ReadLabelled(path, {}, {1, 9}, 1);
  EXPECT_EQ(foreign.code(), StatusCode::kDataError);
  EXPECT_THAT(foreign.status().message(), HasSubstr("a:2: the label 5"));
  EXPECT_EQ(ReadLabelled(path, {}, {1, 5, 9}, 2).code(), StatusCode::kDataError);
}

TEST(ReadLabelled, SparseSamplesMayShowFewerFeaturesButNotMore) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a", "1 1:1\n0 5:1\n");
  EXPECT_EQ(ReadLabelled(path, {}, {0, 1}, 8)->features, 8u);
  const auto wide = ReadLabelled(path, {}, {0, 1}, 4);
  EXPECT_EQ(wide.code(), StatusCode::kDataError);
  EXPECT_THAT(wide.status().message(), HasSubstr("a:2: index 5"));
}

TEST(Gzip, FilesAreUnpackedByContentWhateverTheirName) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i) + "," + std::to_string(i % 3) + "\n";
  const auto data = Read(folder.Write("plain-name", GzipText(text)));
  EXPECT_EQ(data.train.rows(), 100000u);
  // Several members form one file, like the output of cat.
  const auto two = Read(folder.Write("two.gz", GzipText("1,0\n") + GzipText("2,1\n")));
  EXPECT_THAT(two.train.dense, ElementsAre(1, 2));
}

// Lengths around the reader's steps of 256 KiB, and of several steps.
TEST(Gzip, ZerosAtTheEndArePaddingAndNothingMayFollowThem) {
  const TemporaryFolder folder;
  const std::string member = GzipText("1,0\n2,1\n");
  const size_t step = size_t{1} << 18;
  for (const size_t zeros : {size_t{1}, size_t{2}, step - member.size() - 1, step - member.size(),
                             step - member.size() + 1, step, 2 * step, size_t{600'000}}) {
    const std::string padded = member + std::string(zeros, '\0');
    const auto data = Read(folder.Write("padded.gz", padded));
    EXPECT_THAT(data.train.dense, ElementsAre(1, 2)) << zeros;
    for (const std::string& behind : {member, std::string("rubbish"), std::string(1, '\x1f')}) {
      ExpectFails(folder.Write("behind.gz", padded + behind), StatusCode::kDataError,
                  "behind.gz: gzip data damaged");
    }
  }
}

TEST(Readers, LinesWithoutAnEndAreRefused) {
  const TemporaryFolder folder;
  const std::string zeros(size_t{65} << 20, '0');
  ExpectFails(folder.Write("bomb.csv", GzipText("1,2\n1," + zeros)), StatusCode::kDataError,
              "bomb.csv:2: the line has no end within 64 MiB");
  ExpectFails(folder.Write("bomb.svm", GzipText("1 1:2\n1 1:" + zeros)), StatusCode::kDataError,
              "bomb.svm:2: the line has no end within 64 MiB");
  const std::string longest((size_t{60} << 20), '0');
  const auto data = Read(folder.Write("long.csv", "1,0\n" + longest + "2,1\n"));
  EXPECT_THAT(data.train.dense, ElementsAre(1, 2));
}

TEST(Gzip, TruncatedAndDamagedFilesAreRefusedByName) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i * 7919 % 1000) + ",1\n";
  const std::string packed = GzipText(text);
  for (const size_t size : {size_t{2}, size_t{10}, packed.size() / 2, packed.size() - 1}) {
    ExpectFails(folder.Write("cut.gz", packed.substr(0, size)), StatusCode::kDataError,
                "cut.gz: gzip data truncated");
  }
  std::string damaged = packed;
  damaged[packed.size() / 2] ^= 0x55;
  ExpectFails(folder.Write("bad.gz", damaged), StatusCode::kDataError, "bad.gz: gzip data damaged");
  std::string checksum = packed;
  checksum[packed.size() - 6] ^= 1;
  ExpectFails(folder.Write("sum.gz", checksum), StatusCode::kDataError,
              "sum.gz: gzip data damaged");
  ExpectFails(folder.Write("tail.gz", packed + "rubbish"), StatusCode::kDataError, "tail.gz");
}

TEST(Readers, StopWhenTheSamplesAreUnwanted) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 600'000; ++i) text += "1.5,2.5,0\n3,4,1\n";  // More than two blocks.
  const std::string path = folder.Write("large.csv", text);
  int asked = 0;
  ReadOptions options;
  options.unwanted = [&] { return ++asked == 2; };
  EXPECT_EQ(OpenTrainingData(path, options).code(), StatusCode::kCancelled);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace motley
