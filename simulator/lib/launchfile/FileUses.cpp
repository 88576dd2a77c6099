//===- FileUses.cpp - the files of a run ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files are compared as the system knows them, so that links and other ways to
// write a path do not hide that two are the same.
//===----------------------------------------------------------------------===//

#include "FileUses.h"

#include "LaunchFileImpl.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mx::sim;
using namespace llvm;

/// The same for all paths to one file; empty for devices and pipes, which may
/// have many uses.
static std::string identityOf(const std::string &path) {
  sys::fs::file_status status;
  if (!sys::fs::status(path, status)) {
    if (!sys::fs::is_regular_file(status))
      return {};
    sys::fs::UniqueID id = status.getUniqueID();
    return std::to_string(id.getDevice()) + ":" + std::to_string(id.getFile());
  }
  // It will be made: what counts is where.
  SmallString<128> parent = sys::path::parent_path(path), real;
  if (parent.empty())
    parent = ".";
  if (sys::fs::real_path(parent, real)) {
    real = parent;
    (void)sys::fs::make_absolute(real);
    sys::path::remove_dots(real, /*remove_dot_dot=*/true);
  }
  sys::path::append(real, sys::path::filename(path));
  return real.str().str();
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

bool LaunchFile::checkFiles(const llvm::json::Value &root) {
  if (options.isolated)
    return true;
  JsonError found;
  JsonReader json(root, "", {}, found);
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
  auto name = at.raw().getAsString();
  if (!name)
    return true;
  std::string path, why = resolve(name->str(), isOutput, path);
  if (why.empty())
    why = isOutput ? files.writes(path, what) : files.reads(path, what);
  if (why.empty())
    return true;
  jsonError = at.errorOf(why);
  result.refusesFiles = true;
  return false;
}
