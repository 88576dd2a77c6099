//===- CallerStructsTest.cpp - Structs of older and newer callers ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Support/CallerStructs.h"

#include <gtest/gtest.h>

using namespace mx;

namespace {

/// The older, the current and a newer version of a struct of the interface.
struct Old {
  size_t structSize;
  int32_t first;
  int32_t second;
};
struct Now {
  size_t structSize;
  int32_t first;
  int32_t second;
  int64_t third;
};
struct New {
  size_t structSize;
  int32_t first;
  int32_t second;
  int64_t third, fourth;
};
constexpr size_t kLeast = MX_SIZE_WITH(Now, second);

template <typename T>
const Now *asNow(const T &given) {
  return reinterpret_cast<const Now *>(&given);
}

TEST(CallerStructs, ReadsMissingFieldsAsZero) {
  Old given = {sizeof(Old), 1, 2};
  Now read = {0, 9, 9, 9};
  EXPECT_EQ(readStruct(asNow(given), kLeast, "mxNow", read), "");
  EXPECT_EQ(read.first, 1);
  EXPECT_EQ(read.second, 2);
  EXPECT_EQ(read.third, 0);
}

TEST(CallerStructs, RefusesUnknownFieldsThatAreSet) {
  New given = {sizeof(New), 1, 2, 3, 0};
  Now read = {};
  EXPECT_EQ(readStruct(asNow(given), kLeast, "mxNow", read), "");
  EXPECT_EQ(read.third, 3);
  given.fourth = 4;
  EXPECT_EQ(
      readStruct(asNow(given), kLeast, "mxNow", read),
      "expected mxNow of at most 24 bytes, found structSize 32 with "
      "fields that this library does not support: leave them zero, or use "
      "a newer library");
}

TEST(CallerStructs, RefusesInvalidSizes) {
  Now read = {};
  for (size_t size : {size_t(0), size_t(8), kLeast - 1}) {
    Now given = {size, 1, 2, 3};
    EXPECT_EQ(readStruct(&given, kLeast, "mxNow", read),
              "expected structSize of mxNow to be at least 16, found " +
                  std::to_string(size) + ": set it to sizeof(mxNow)");
  }
  // This size belongs to no version and would cut a field.
  Now cut = {20, 1, 2, 3};
  EXPECT_EQ(readStruct(&cut, kLeast, "mxNow", read),
            "expected structSize of mxNow to be a multiple of 8, found 20: set "
            "it to sizeof(mxNow)");
  EXPECT_NE(writeStruct(&cut, "mxNow", read), "");
  // A caller of another interface may pass an address as the size. No field is
  // read then.
  Now given = {size_t(-1), 1, 2, 3};
  EXPECT_NE(readStruct(&given, kLeast, "mxNow", read), "");
}

TEST(CallerStructs, WritesOnlyTheCallersBytes) {
  struct {
    Old answer = {sizeof(Old), 0, 0};
    int64_t after = 77;
  } old;
  Now answer = {sizeof(Now), 1, 2, 3};
  EXPECT_EQ(writeStruct(reinterpret_cast<Now *>(&old.answer), "mxNow", answer),
            "");
  EXPECT_EQ(old.answer.second, 2);
  EXPECT_EQ(old.answer.structSize, sizeof(Old));
  EXPECT_EQ(old.after, 77);
  New caller = {sizeof(New), 0, 0, 0, 44};
  EXPECT_EQ(writeStruct(reinterpret_cast<Now *>(&caller), "mxNow", answer), "");
  EXPECT_EQ(caller.third, 3);
  EXPECT_EQ(caller.fourth, 44);
  EXPECT_EQ(caller.structSize, sizeof(New));
  Now unset = {};
  EXPECT_NE(writeStruct(&unset, "mxNow", answer), "");
}

template <typename T>
void checkArray() {
  T elements[3] = {};
  for (int i = 0; i < 3; ++i) {
    elements[i].structSize = sizeof(T);
    elements[i].first = i;
    elements[i].second = 10 * i;
  }
  CallerArray<Now> array(asNow(elements[0]), 3);
  EXPECT_EQ(array.check(kLeast, "mxNow", "argument"), "");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(array[i].first, i);
    EXPECT_EQ(array[i].second, 10 * i);
    EXPECT_EQ(array[i].third, 0);
  }
  elements[2].structSize = 0;
  EXPECT_EQ(array.check(kLeast, "mxNow", "argument"),
            "argument 2: expected structSize of mxNow to be at least 16, found "
            "0: set it to sizeof(mxNow)");
}

TEST(CallerStructs, ReadsArraysOfAnyVersion) {
  checkArray<Old>();
  checkArray<Now>();
  checkArray<New>();
}

} // namespace
