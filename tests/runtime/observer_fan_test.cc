// SPDX-License-Identifier: Apache-2.0
#include "runtime/observer_fan.h"

#include <gtest/gtest.h>

#include <vector>

namespace motley {
namespace {

struct Witness final : JobObserver {
  Witness(int the_name, std::vector<int>& the_order) : name(the_name), order(the_order) {}
  void OnEvent(const JobEvent& event) override {
    order.push_back(name);
    rate = std::get<event::RateSet>(event).rate;
  }
  int name;
  std::vector<int>& order;
  double rate = 0;
};

TEST(ObserverFan, TellsAllInTheirOrderAndLeavesOutNull) {
  std::vector<int> order;
  Witness first(1, order), second(2, order);
  ObserverFan fan;
  fan.OnEvent(event::RateSet{0, 0.5});
  EXPECT_TRUE(order.empty()) << "it knows nobody yet";
  fan.Tell({&second, nullptr, &first});
  fan.OnEvent(event::RateSet{3, 0.25});
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
  EXPECT_EQ(first.rate, 0.25);
  fan.Tell({});
  fan.OnEvent(event::RateSet{4, 0.125});
  EXPECT_EQ(first.rate, 0.25);
}

TEST(Handle, PassesTheKindsThatAreTaken) {
  int rates = 0;
  const auto take = [&](const event::RateSet&) { ++rates; };
  Handle(event::RateSet{0, 0.5}, take);
  Handle(event::CheckpointSafe{3}, take);
  EXPECT_EQ(rates, 1);
}

}  // namespace
}  // namespace motley
