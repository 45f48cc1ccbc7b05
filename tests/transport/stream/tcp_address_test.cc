// SPDX-License-Identifier: Apache-2.0
#include "transport/stream/tcp_address.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(TcpAddress, HostAndPortAreTakenApart) {
  EXPECT_EQ(ParseHostPort("a.example:7440").value().host, "a.example");
  EXPECT_EQ(ParseHostPort("a.example:7440").value().port, 7440);
  EXPECT_EQ(ParseHostPort("[::1]:0").value().host, "::1");
  EXPECT_EQ(ParseHostPort("127.0.0.1:65535").value().port, 65535);
}

TEST(TcpAddress, BadAddressesSayWhatAGoodOneLooksLike) {
  const std::string long_host = std::string(254, 'a') + ":1";
  for (const std::string& bad :
       {std::string("host:"), std::string(":80"), std::string("host:65536"), std::string("host:-1"),
        std::string("host:80x"), std::string("host: 80"), std::string("::1:80"),
        std::string("[]:80"), std::string("a\0b:80", 6), long_host}) {
    const auto parsed = ParseHostPort(bad);
    EXPECT_EQ(parsed.code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_NE(parsed.status().message().find("[::1]:7440"), std::string::npos) << bad;
  }
}

TEST(TcpAddress, AMissingPortIsNamed) {
  EXPECT_EQ(ParseHostPort("127.0.0.1").status().message(),
            "\"127.0.0.1\": the port is missing; write HOST:PORT, like 192.168.1.10:7000");
  EXPECT_EQ(ParseHostPort("").code(), StatusCode::kInvalidArgument);
}

TEST(TcpAddress, NumericAddressesNeedNoResolver) {
  for (const char* text : {"10.1.2.3:7440", "[::1]:7440", "[fe80::1]:1"}) {
    const auto address = NumericAddress(ParseHostPort(text).value());
    ASSERT_TRUE(address.has_value()) << text;
    EXPECT_EQ(FormatAddress(*address), text);
  }
  EXPECT_EQ(FormatAddress(*NumericAddress({"localhost", 5})), "127.0.0.1:5");
  EXPECT_FALSE(NumericAddress({"a.example", 5}).has_value());
}

TEST(TcpAddress, LoopbackIsKnownInEveryFamily) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(IsLoopback(*NumericAddress({host, 1}))) << host;
  }
  for (const char* host : {"128.0.0.1", "::2", "::ffff:10.0.0.1", "0.0.0.0"}) {
    EXPECT_FALSE(IsLoopback(*NumericAddress({host, 1}))) << host;
  }
}

TEST(TcpAddress, EqualAddressesAreTheSame) {
  EXPECT_TRUE(SameAddress(*NumericAddress({"::1", 1}), *NumericAddress({"::1", 1})));
  EXPECT_FALSE(SameAddress(*NumericAddress({"::1", 1}), *NumericAddress({"::1", 2})));
  EXPECT_TRUE(SameAddress(*NumericAddress({"127.0.0.1", 1}), *NumericAddress({"127.0.0.1", 1})));
  EXPECT_FALSE(SameAddress(*NumericAddress({"127.0.0.1", 1}), *NumericAddress({"::1", 1})));
}

}  // namespace
}  // namespace motley
