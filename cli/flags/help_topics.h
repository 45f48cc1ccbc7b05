// SPDX-License-Identifier: Apache-2.0
// Pages of `motley help TOPIC`, about subjects that concern several commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace motley {

std::vector<std::string> TopicNames();
std::string ListOfTopics();                     // One line per topic, under a heading.
std::string TopicPage(std::string_view topic);  // Empty: no such topic.

}  // namespace motley
