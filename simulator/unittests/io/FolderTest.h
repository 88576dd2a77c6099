//===- FolderTest.h - Tests with a folder of their own ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_UNITTESTS_IO_FOLDERTEST_H
#define MXSIM_UNITTESTS_IO_FOLDERTEST_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace mx {

class FolderTest : public testing::Test {
protected:
  void SetUp() override {
    directory = testing::TempDir() + "mx-io-XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string path(const std::string &name) { return directory + "/" + name; }

  std::vector<std::string> list() {
    std::vector<std::string> names;
    for (auto &entry : std::filesystem::directory_iterator(directory))
      names.push_back(entry.path().filename());
    return names;
  }

  std::string write(const std::string &name, const std::string &bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  std::string slurp(const std::string &name) {
    std::ifstream file(path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::string directory;
};

} // namespace mx

#endif // MXSIM_UNITTESTS_IO_FOLDERTEST_H
