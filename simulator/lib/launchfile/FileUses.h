//===- FileUses.h - Conflicts between files of a run ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before anything runs, rejects outputs that would overwrite an input or
// another output.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_LAUNCHFILE_FILEUSES_H
#define MXSIM_LIB_LAUNCHFILE_FILEUSES_H

#include <map>
#include <string>

namespace mx::sim {

class FileUses {
public:
  /// Record that a file is read or written. `what` describes the file in
  /// messages. Return an error if the file is written and has another use;
  /// otherwise "".
  std::string reads(const std::string &path, const std::string &what) {
    return add(path, {what, false});
  }
  std::string writes(const std::string &path, const std::string &what) {
    return add(path, {what, true});
  }

private:
  struct Use {
    std::string what;
    bool isOutput;
  };
  std::string add(const std::string &path, Use use);

  std::map<std::string, Use> uses; ///< first use of each file
};

} // namespace mx::sim

#endif // MXSIM_LIB_LAUNCHFILE_FILEUSES_H
