// SPDX-License-Identifier: Apache-2.0
// Pages of `motley help TOPIC` about what several commands have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace motley {

std::vector<std::string> TopicNames();
std::string ListOfTopics();                     // A line for each, under a heading.
const char* TopicPage(std::string_view topic);  // Null: there is no such topic.

}  // namespace motley
