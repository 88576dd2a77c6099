//===- InputFile.cpp - Checks of input files ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/io/InputFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/// Returns true for a pipe without a name in the file system.
static bool isUnnamedPipe(const std::string &path) {
  struct statfs system;
  return statfs(path.c_str(), &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

/// Returns true for /dev/null (Linux, devices.txt: 1 char, minor 3).
static bool isNullDevice(const struct stat &info) {
  return S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
}

std::string mx::checkInputFile(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode) ||
      isNullDevice(info) || (S_ISFIFO(info.st_mode) && isUnnamedPipe(path)))
    return "";
  const char *found = S_ISDIR(info.st_mode)    ? "a directory"
                      : S_ISFIFO(info.st_mode) ? "a named pipe"
                      : S_ISSOCK(info.st_mode) ? "a socket"
                                               : "a device";
  return path + ": expected a file, found " + found;
}

std::string mx::readInputFile(const std::string &path, std::string &text) {
  if (std::string why = checkInputFile(path); !why.empty())
    return why;
  text.clear();
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t count = file < 0 ? -1 : 1;
  char piece[1 << 16];
  while (count > 0 || (count < 0 && file >= 0 && errno == EINTR)) {
    count = read(file, piece, sizeof piece);
    if (count > 0)
      text.append(piece, size_t(count));
  }
  std::string why = count < 0 ? path + ": " + strerror(errno) : "";
  if (file >= 0)
    close(file);
  return why;
}

bool mx::isFileBeside(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}
