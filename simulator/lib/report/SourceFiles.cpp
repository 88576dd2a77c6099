//===- SourceFiles.cpp - Files named in reports ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SourceFiles.h"

#include "mxsim/io/InputFile.h"

#include <filesystem>

using namespace mx::sim;
namespace fs = std::filesystem;

std::string mx::sim::findSource(const LaunchFileResult &result,
                                const std::string &name) {
  std::error_code code;
  if (!fs::is_regular_file(name, code))
    for (const std::string &module : result.modulePaths)
      if (fs::path path = fs::path(module).parent_path() / name;
          fs::is_regular_file(path, code))
        return path.string();
  return name;
}

std::string mx::sim::readSource(const LaunchFileResult &result,
                                const std::string &name) {
  std::error_code code;
  std::string path = findSource(result, name), text;
  bool isRead = fs::is_regular_file(path, code) &&
                fs::file_size(path, code) <= (1u << 20) &&
                mx::readInputFile(path, text).empty();
  return isRead ? text : "";
}
