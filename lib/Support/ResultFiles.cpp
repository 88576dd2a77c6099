//===- ResultFiles.cpp - Checks of result paths ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Support/ResultFiles.h"

#include <algorithm>
#include <filesystem>

std::string mx::checkResultFiles(const std::vector<std::string> &paths) {
  namespace fs = std::filesystem;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string &path = paths[i];
    if (std::count(paths.begin(), paths.begin() + std::ptrdiff_t(i), path))
      return path + ": expected a separate file for each result";
    std::error_code ignored;
    fs::path directory = fs::path(path).parent_path();
    if (!fs::is_directory(directory.empty() ? "." : directory, ignored))
      return path + ": cannot write: no directory '" + directory.string() + "'";
    if (fs::is_directory(path, ignored))
      return path + ": cannot write: it is a directory";
  }
  return "";
}
