//===- FileUses.h - the files of a run --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An output over an input or over another output would be lost work: it is
// refused before anything runs.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_LAUNCHFILE_FILEUSES_H
#define MXSIM_LIB_LAUNCHFILE_FILEUSES_H

#include <map>
#include <string>

namespace mx::sim {

class FileUses {
public:
  /// `what` says in messages whose file it is. Empty, or why not: a file that
  /// is written has no other use.
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

  std::map<std::string, Use> uses; ///< the first of each file
};

} // namespace mx::sim

#endif // MXSIM_LIB_LAUNCHFILE_FILEUSES_H
