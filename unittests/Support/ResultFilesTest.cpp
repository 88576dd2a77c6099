//===- ResultFilesTest.cpp - Results at unwritable paths ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Support/ResultFiles.h"

#include <gtest/gtest.h>

using namespace mx;

TEST(ResultFiles, AcceptsFilesOfTheirOwn) {
  std::string directory = testing::TempDir();
  EXPECT_EQ(checkResultFiles({}), "");
  EXPECT_EQ(checkResultFiles({directory + "a", directory + "b", "a"}), "");
}

TEST(ResultFiles, SaysWhatIsWrong) {
  std::string directory = testing::TempDir(), a = directory + "a";
  EXPECT_EQ(checkResultFiles({a, "b", a}),
            a + ": expected a separate file for each result");
  std::string lost = directory + "no such";
  EXPECT_EQ(checkResultFiles({a, lost + "/b"}),
            lost + "/b: cannot write: no directory '" + lost + "'");
  EXPECT_EQ(checkResultFiles({directory}),
            directory + ": cannot write: it is a directory");
}
