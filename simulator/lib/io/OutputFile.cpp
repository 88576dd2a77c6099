//===- OutputFile.cpp - Atomic output files -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/io/OutputFile.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using Pieces = std::initializer_list<std::string_view>;

/// Writes and closes `file` unless it is -1. Returns 0 or an error number.
int writeAndClose(int file, Pieces pieces) {
  if (file < 0)
    return errno;
  int error = 0;
  for (std::string_view piece : pieces)
    while (!error && !piece.empty()) {
      ssize_t count = ::write(file, piece.data(), piece.size());
      if (count >= 0)
        piece.remove_prefix(size_t(count));
      else if (errno != EINTR)
        error = errno;
    }
  // Some file systems report a full disk only when the file is closed.
  return close(file) && !error ? errno : error;
}

/// Returns a duplicate of the standard stream that refers to this file, or -1.
int copyStandardStream(const struct stat &file) {
  struct stat other;
  for (int stream : {STDOUT_FILENO, STDERR_FILENO})
    if (fstat(stream, &other) == 0 && other.st_dev == file.st_dev &&
        other.st_ino == file.st_ino)
      return fcntl(stream, F_DUPFD_CLOEXEC, 0);
  return -1;
}

/// Replaces a regular file; keeps its permissions if `old` is not null. Writes
/// in place if the folder does not accept new files. Returns 0 or an error
/// number.
int replace(const std::string &path, const struct stat *old, Pieces pieces) {
  namespace fs = std::filesystem;
  if (old && access(path.c_str(), W_OK))
    return errno;
  auto writeInPlace = [&] {
    return writeAndClose(
        open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666),
        pieces);
  };
  std::error_code code;
  fs::path target = path;
  while (fs::is_symlink(target, code))
    target = target.parent_path() / fs::read_symlink(target, code);
  // The number distinguishes threads of this process. O_EXCL detects a process
  // with the same id in another container.
  static std::atomic<unsigned> number{0};
  std::string beside;
  int file;
  do {
    beside = target.string() + "." + std::to_string(getpid()) + "." +
             std::to_string(number++) + ".tmp";
    file = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file < 0 && errno == EEXIST);
  // On a full disk, keep the old file.
  if (file < 0)
    return errno == ENOSPC || errno == EDQUOT ? errno : writeInPlace();
  if (old)
    (void)!fchmod(file, old->st_mode & 0777);
  int error = writeAndClose(file, pieces);
  if (!error && rename(beside.c_str(), target.c_str()))
    error = errno;
  if (error)
    unlink(beside.c_str());
  // rename cannot replace a mount point.
  return error == EBUSY ? writeInPlace() : error;
}

} // namespace

std::string mx::writeOutputFile(const std::string &path, Pieces pieces) {
  struct stat info;
  bool exists = stat(path.c_str(), &info) == 0;
  int error = exists ? 0 : errno;
  if (int stream = exists ? copyStandardStream(info) : -1; stream >= 0)
    error = writeAndClose(stream, pieces);
  else if (exists && !S_ISREG(info.st_mode))
    error = writeAndClose(open(path.c_str(), O_WRONLY | O_CLOEXEC), pieces);
  else if (exists || error == ENOENT)
    error = replace(path, exists ? &info : nullptr, pieces);
  return error ? path + ": cannot write: " + strerror(error) : "";
}

std::string mx::whyNotWritable(const std::string &path) {
  std::error_code code;
  std::filesystem::path place = path;
  if (is_directory(place, code))
    return path + ": " + strerror(EISDIR);
  if (!exists(place, code))
    place = absolute(place).parent_path() / "";
  return access(place.c_str(), W_OK) ? path + ": " + strerror(errno) : "";
}
