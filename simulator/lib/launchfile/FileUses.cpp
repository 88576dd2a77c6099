//===- FileUses.cpp - Conflicts between files of a run --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files are compared by identity, so links and other spellings of a path are
// recognized.
//===----------------------------------------------------------------------===//

#include "FileUses.h"

#include "LaunchFileImpl.h"

#include <filesystem>
#include <sys/stat.h>

using namespace mx::sim;
namespace fs = std::filesystem;

/// Returns an identifier that is the same for all paths of a file. Returns an
/// empty string for devices and pipes, which may be used more than once.
static std::string identityOf(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0)
    return S_ISREG(info.st_mode)
               ? std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino)
               : "";
  // A new file is identified by its folder and name.
  std::error_code code;
  fs::path absolute = fs::absolute(path, code);
  fs::path folder = fs::weakly_canonical(absolute.parent_path(), code);
  if (code)
    folder = absolute.parent_path().lexically_normal();
  return (folder / absolute.filename()).string();
}

std::string FileUses::add(const std::string &path, Use use) {
  std::string identity = identityOf(path);
  if (identity.empty())
    return {};
  auto [it, isNew] = uses.emplace(identity, use);
  if (isNew || (!use.isOutput && !it->second.isOutput))
    return {};
  return use.what + " and " + it->second.what + " are the same file, " + path;
}

bool LaunchFile::checkFiles() {
  auto check = [&](const std::string &why) {
    result.refusesFiles = !why.empty();
    return why.empty() || fail(why);
  };
  for (const std::string &path : options.modules)
    if (!check(files.reads(path, "a module")))
      return false;
  if (!options.text &&
      !check(files.reads(options.launchFile, "the launch file")))
    return false;
  for (auto &[option, path] : options.reports)
    if (!check(files.writes(path, option)))
      return false;
  return true;
}

bool LaunchFile::checkFiles(const Json &root) {
  if (options.isolated)
    return true;
  std::string found; // unused: malformed JSON is reported later
  JsonReader json(root, "", found);
  if (json.has("modules"))
    for (const JsonReader &m : json["modules"].elements())
      if (!checkFile(m, "a module", false))
        return false;
  if (json.has("devices"))
    for (const JsonReader &d : json["devices"].elements())
      if (!checkFilesOfDevice(d))
        return false;
  return checkFilesOfDevice(json);
}

bool LaunchFile::checkFilesOfDevice(const JsonReader &json) {
  if (json.has("buffers"))
    for (auto &[name, b] : json["buffers"].members())
      if (b.has("file") &&
          !checkFile(b["file"], "buffer '" + name + "'", false))
        return false;
  if (json.has("outputs"))
    for (auto &[name, o] : json["outputs"].members())
      if (!checkFile(o.has("file") ? o["file"] : o, "output '" + name + "'",
                     true))
        return false;
  return true;
}

bool LaunchFile::checkFile(const JsonReader &at, const std::string &what,
                           bool isOutput) {
  if (!at.isString())
    return true;
  std::string path, why = resolve(at.string(), isOutput, path);
  if (why.empty())
    why = isOutput ? files.writes(path, what) : files.reads(path, what);
  if (why.empty())
    return true;
  jsonError = at.errorOf(why);
  result.refusesFiles = true;
  return false;
}
