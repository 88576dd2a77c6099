//===- Tool.h - What the mains of tools share -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The version, exit statuses of bad options, and what happens where memory is
// short: LLVM would abort.
//
//===----------------------------------------------------------------------===//

#ifndef MX_TOOLS_TOOL_H
#define MX_TOOLS_TOOL_H

#include "mx/Support/ExitStatus.h"
#include "mx/Support/InputFile.h"
#include "mx/Support/Printable.h"
#include "mx/Support/Version.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <cstring>
#include <exception>
#include <unistd.h>

namespace mx {

/// Of upstream's drivers, whatever went wrong.
constexpr int kExitUpstream = 1;

/// The first call of the main of tool `name`, which ends so where memory is
/// short.
template <int kOutOfMemory = kExitBadInput>
void initTool(const char *name) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "mx " << getVersion() << "\nLLVM " << LLVM_VERSION_STRING << '\n';
  });
  // Nothing that needs memory may be done here.
  llvm::install_bad_alloc_error_handler(
      [](void *name, const char *, bool) {
        const char *parts[] = {static_cast<const char *>(name),
                               ": out of memory\n"};
        for (const char *part : parts)
          if (write(STDERR_FILENO, part, strlen(part)) < 0)
            break;
        _exit(kOutOfMemory);
      },
      const_cast<char *>(name));
  // What the C++ library throws where a size or a thread is more than it can
  // give; mx throws nothing.
  std::set_terminate([] {
    if (std::current_exception())
      llvm::report_bad_alloc_error("a size or a thread beyond all limits");
    abort();
  });
}

/// Whether the options can be taken; what is wrong with them goes to stderr.
inline bool parseOptions(int argc, char **argv, const char *overview) {
  // Without a stream of its own for errors LLVM exits with its own status.
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (llvm::cl::ParseCommandLineOptions(argc, argv, overview, &stream))
    return true;
  llvm::errs() << errors;
  return false;
}

/// Whether a file can be read that upstream's drivers open themselves; a
/// message goes to stderr.
inline bool checkInput(const std::string &path) {
  std::string why = checkInputFile(path);
  if (!why.empty())
    llvm::errs() << printable(why) << '\n';
  return why.empty();
}

/// The same of each word of a driver that parses its options itself: options
/// that it has take no paths but -o, whose file is written.
inline bool checkInputWords(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (word == "-o" || word == "--o")
      ++i;
    else if (!word.starts_with("-") && !checkInput(argv[i]))
      return false;
  }
  return true;
}

} // namespace mx

#endif // MX_TOOLS_TOOL_H
