//===- SourceFiles.cpp - Files named in reports ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SourceFiles.h"

#include "mxsim/io/InputFile.h"

#include <filesystem>

using namespace mx::sim;
namespace fs = std::filesystem;

std::string SourceFiles::find(const std::string &name) const {
  std::error_code code;
  if (fs::is_regular_file(name, code))
    return name;
  for (const std::string &module : result.modulePaths) {
    fs::path path = fs::path(module).parent_path() / name;
    if (fs::is_regular_file(path, code))
      return path.string();
  }
  return name;
}

const std::string *SourceFiles::read(const std::string &name) {
  constexpr uintmax_t kMostBytes = 1 << 20;
  auto [it, isNew] = texts.emplace(name, std::nullopt);
  std::error_code code;
  std::string path = find(name), text;
  if (isNew && fs::is_regular_file(path, code) &&
      fs::file_size(path, code) <= kMostBytes &&
      mx::readInputFile(path, text).empty())
    it->second = std::move(text);
  return it->second ? &*it->second : nullptr;
}

std::string SourceFiles::line(const std::string &name, unsigned number) {
  const std::string *text = read(name);
  if (!text)
    return {};
  std::string_view rest = *text;
  for (; number > 1 && !rest.empty(); --number)
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  rest = rest.substr(0, rest.find('\n'));
  size_t begin = rest.find_first_not_of(" \t\r");
  if (begin == rest.npos)
    return {};
  return std::string(
      rest.substr(begin, rest.find_last_not_of(" \t\r") + 1 - begin));
}
