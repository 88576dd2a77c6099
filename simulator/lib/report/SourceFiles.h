//===- SourceFiles.h - Files named in reports -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_REPORT_SOURCEFILES_H
#define MXSIM_LIB_REPORT_SOURCEFILES_H

#include "mxsim/Report.h"

#include <map>
#include <optional>

namespace mx::sim {

/// Finds and reads the files that findings name, at the time of the report.
class SourceFiles {
public:
  explicit SourceFiles(const LaunchFileResult &result) : result(result) {}
  /// Returns the path of a file of .loc or of a module: the name itself, or
  /// else a file beside a module. Returns `name` if neither exists.
  std::string find(const std::string &name) const;
  /// Returns the text of a file, or null if it cannot be read or exceeds 1 MiB.
  const std::string *read(const std::string &name);
  /// Returns a line without spaces at its ends, or "".
  std::string line(const std::string &name, unsigned number);

private:
  const LaunchFileResult &result;
  std::map<std::string, std::optional<std::string>> texts;
};

} // namespace mx::sim

#endif // MXSIM_LIB_REPORT_SOURCEFILES_H
