// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace motley {
namespace {

TEST(Status, IsFineByDefault) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.ToString(), "ok");
}

TEST(Status, NumbersOfCodesNeverChange) {
  EXPECT_EQ(static_cast<int>(StatusCode::kInvalidArgument), 2);
  EXPECT_EQ(static_cast<int>(StatusCode::kUnavailable), 4);
  EXPECT_EQ(static_cast<int>(StatusCode::kDataError), 7);
  EXPECT_EQ(static_cast<int>(StatusCode::kInternal), 10);
  EXPECT_EQ(static_cast<int>(StatusCode::kCallback), 11);
}

TEST(Status, EveryConstructorGivesItsCodeANameOfItsOwn) {
  const Status all[] = {
      Status::Cancelled("m"),   Status::InvalidArgument("m"), Status::NotFound("m"),
      Status::Unavailable("m"), Status::Permission("m"),      Status::Conflict("m"),
      Status::DataError("m"),   Status::NotDecodable("m"),    Status::Resource("m"),
      Status::Internal("m"),    Status::Callback("m")};
  int number = 1;
  for (const Status& status : all) {
    EXPECT_EQ(static_cast<int>(status.code()), number++);
    EXPECT_EQ(status.message(), "m");
    EXPECT_NE(StatusCodeName(status.code()), "unknown");
  }
  EXPECT_EQ(StatusCodeName(static_cast<StatusCode>(99)), "unknown");
}

TEST(Status, ContextKeepsTheCodeAndTheCause) {
  const Status inner = Status::NotFound("no file 'a'");
  const Status outer = inner.WithContext("cannot read the data").WithContext("cannot train");
  EXPECT_EQ(outer.code(), StatusCode::kNotFound);
  EXPECT_EQ(outer.message(), "cannot train");
  EXPECT_EQ(outer.ToString(), "cannot train: cannot read the data: no file 'a'");
  EXPECT_EQ(inner.ToString(), "no file 'a'");
}

TEST(Status, ContextOnFineStaysFine) { EXPECT_TRUE(Status::Ok().WithContext("x").ok()); }

Status Fails() { return Status::Conflict("two versions"); }
Status Passes(bool* reached) {
  MOTLEY_RETURN_IF_ERROR(Status::Ok());
  *reached = true;
  MOTLEY_RETURN_IF_ERROR(Fails());
  *reached = false;
  return Status::Ok();
}

TEST(Status, ReturnIfErrorLeavesAtTheFirstError) {
  bool reached = false;
  EXPECT_EQ(Passes(&reached).code(), StatusCode::kConflict);
  EXPECT_TRUE(reached);
}

Result<std::unique_ptr<int>> MakeInt(bool good) {
  if (!good) return Status::Resource("no memory");
  return std::make_unique<int>(5);
}
Result<int> Twice(bool good) {
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<int> value, MakeInt(good));
  return *value * 2;
}

TEST(Result, HoldsAValueThatCanOnlyBeMoved) {
  const Result<int> result = Twice(true);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, 10);
  EXPECT_EQ(result.code(), StatusCode::kOk);
}

TEST(Result, PassesTheErrorOn) {
  const Result<int> result = Twice(false);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().ToString(), "no memory");
}

TEST(ResultDeathTest, ValueOfAnErrorIsOurBug) {
  Result<int> result = Status::Internal("x");
  EXPECT_DEATH((void)result.value(), "does not hold");
  EXPECT_DEATH((void)Result<int>(Status::Ok()), "does not hold");
}

}  // namespace
}  // namespace motley
