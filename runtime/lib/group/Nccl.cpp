//===- Nccl.cpp - Loader of NCCL ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Nccl.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace mx::runtime;
using namespace mx::runtime::nccl;

static constexpr int kLeastVersion = 22700;
static constexpr const char *kName = "libnccl.so.2";

std::string mx::runtime::nccl::describeVersion(int version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Error Library::error(const std::string &what, Result result,
                     Communicator communicator) const {
  const char *more = getLastError(communicator);
  std::string text = what + " failed: NCCL " + describeVersion(version) +
                     " says " + getErrorString(result);
  if (more && *more)
    text += std::string(" (") + more + ")";
  return {result == kRemoteError ? MX_ERROR_PEER : MX_ERROR_DRIVER, text};
}

Error mx::runtime::nccl::checkVersion(int version, const std::string &path) {
  if (version >= kLeastVersion)
    return {};
  return {MX_ERROR_UNSUPPORTED,
          "expected NCCL " + describeVersion(kLeastVersion) +
              " or later, found " + describeVersion(version) + " in " + path +
              ": install a later version, or set MX_NCCL_LIBRARY to its path "
              "before another library of the process loads this version"};
}

/// Returns the path of the library that contains a function.
static std::string findPath(void *function) {
  Dl_info info = {};
  return dladdr(function, &info) && info.dli_fname ? info.dli_fname : kName;
}

Error mx::runtime::nccl::load(Library &library) {
  const char *named = getenv("MX_NCCL_LIBRARY");
  const char *path = named && *named ? named : kName;
  // Prefer a loaded NCCL: two copies in a process conflict.
  void *loaded = dlopen(kName, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (!loaded)
    loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!loaded) {
    const char *reason = dlerror();
    return {MX_ERROR_UNSUPPORTED,
            std::string("cannot load ") + path + ": " +
                (reason ? reason : "unknown reason") +
                ": install NCCL and set MX_NCCL_LIBRARY to its path, or select "
                "the slower transport \"host\""};
  }
  std::string missing;
#define X(member, symbol, result, types)                                       \
  library.member = reinterpret_cast<result(*) types>(dlsym(loaded, #symbol));  \
  if (!library.member && missing.empty())                                      \
    missing = #symbol;
  MX_NCCL_REQUIRED_FUNCTIONS(X)
#undef X
#define X(member, symbol, result, types)                                       \
  library.member = reinterpret_cast<result(*) types>(dlsym(loaded, #symbol));
  MX_NCCL_OPTIONAL_FUNCTIONS(X)
#undef X
  library.path = path;
  if (library.getVersion) {
    library.path = findPath(reinterpret_cast<void *>(library.getVersion));
    library.getVersion(&library.version);
    if (Error error = checkVersion(library.version, library.path))
      return error;
  }
  if (!missing.empty())
    return {MX_ERROR_UNSUPPORTED, library.path + " (NCCL " +
                                      describeVersion(library.version) +
                                      ") has no " + missing};
  return {};
}

Error mx::runtime::nccl::getLibrary(const Library *&library) {
  struct Loaded {
    Library library;
    Error error;
    Loaded() : error(load(library)) {}
  };
  static Loaded *loaded = new Loaded;
  library = &loaded->library;
  return loaded->error;
}
