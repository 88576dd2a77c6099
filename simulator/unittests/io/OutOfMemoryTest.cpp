//===- OutOfMemoryTest.cpp - Termination without memory -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/io/Memory.h"

#include <csignal>
#include <cstdint>
#include <exception>
#include <gtest/gtest.h>
#include <new>
#include <thread>
#include <vector>

using namespace mx;

namespace {

TEST(OutOfMemory, EndsTheProcess) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  auto end = [](void (*how)()) {
    handleOutOfMemory("tool", 7);
    how();
  };
  auto isSeven = testing::ExitedWithCode(7);
  constexpr char kMessage[] = "^tool: out of memory\n$";
  EXPECT_EXIT(end([] { std::get_new_handler()(); }), isSeven, kMessage);
  auto throwing = [] {
    std::thread([] { std::vector<char>().reserve(SIZE_MAX); }).join();
  };
  EXPECT_EXIT(end(throwing), isSeven, kMessage);
  EXPECT_EXIT(end(std::terminate), testing::KilledBySignal(SIGABRT), "^$");
}

} // namespace
