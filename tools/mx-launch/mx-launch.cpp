//===- mx-launch.cpp - Execution of compiled directories ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the command line of docs/guide/Run.md. Options are parsed without
// LLVM, because this program must not depend on LLVM.
//===----------------------------------------------------------------------===//

#include "mx/Launch/Launch.h"
#include "mx/Support/ExitStatus.h"
#include "mx/Support/Version.h"
#include "mxsim/io/Memory.h"
#include "mxsim/io/Printable.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

static const char kUsage[] =
    "usage: mx-launch DIR [options]\n"
    "\n"
    "Runs an entry of a directory that mx-compile wrote on .npy arrays.\n"
    "\n"
    "  --entry=NAME      the entry to run; default: main\n"
    "  --device=DEVICE   auto (default), sim, cuda or cuda:N\n"
    "  --arg=X.npy       array for the next argument of the entry\n"
    "  --result=Y.npy    output file for the next result\n"
    "  --group=NAME@HOST:PORT\n"
    "                    a group of the program, and the address of its rank "
    "0\n"
    "  --rank=R          the rank of this process in that group\n"
    "  --list            print the entries and their types without running\n"
    "  --time            print how long each part took\n"
    "  --quiet           print no notices or progress to standard error\n"
    "  --help            print this\n"
    "  --version         print the version\n";

namespace {

/// Parses options in order. Returns false after a message.
class Parser {
public:
  Parser(int count, char **words, mx::LaunchOptions &options)
      : count(count), words(words), options(options) {}

  bool parse() {
    while (at < count)
      if (!parseWord(words[at++]))
        return false;
    for (const mx::LaunchRankGroup &group : options.groups)
      if (group.rank < 0)
        return fail("expected a --rank after --group=" + group.name);
    return true;
  }
  bool wantsHelp = false, wantsVersion = false;

private:
  bool fail(const std::string &why) {
    fprintf(stderr, "mx-launch: %s; mx-launch --help lists the options\n",
            mx::printable(why).c_str());
    return false;
  }

  bool parseWord(std::string_view word) {
    if (word.substr(0, 1) != "-") {
      if (!options.directory.empty())
        return fail("expected a single directory, also found '" +
                    std::string(word) + "'");
      options.directory = word;
      return true;
    }
    word.remove_prefix(word.substr(0, 2) == "--" ? 2 : 1);
    size_t equals = word.find('=');
    std::string_view name = word.substr(0, equals);
    if (bool *flag = findFlag(name)) {
      if (equals != std::string_view::npos)
        return fail("expected no value for --" + std::string(name));
      *flag = true;
      return true;
    }
    std::string value;
    if (equals != std::string_view::npos)
      value = word.substr(equals + 1);
    else if (isValued(name) && at < count)
      value = words[at++];
    else if (isValued(name))
      return fail("expected a value for --" + std::string(name));
    return setValue(name, value);
  }

  bool *findFlag(std::string_view name) {
    return name == "list"      ? &options.list
           : name == "time"    ? &options.printTiming
           : name == "quiet"   ? &options.quiet
           : name == "help"    ? &wantsHelp
           : name == "version" ? &wantsVersion
                               : nullptr;
  }
  static bool isValued(std::string_view name) {
    return name == "entry" || name == "device" || name == "arg" ||
           name == "result" || name == "group" || name == "rank";
  }
  bool addGroup(const std::string &value) {
    size_t end = value.find('@');
    if (end == 0 || end == std::string::npos)
      return fail("--group: expected NAME@HOST:PORT, found '" + value + "'");
    options.groups.push_back({value.substr(0, end), value.substr(end + 1)});
    return true;
  }
  /// Sets the rank of this process in the last group of the command line.
  bool setRank(const std::string &value) {
    int rank = 0;
    const char *end = value.data() + value.size();
    auto [rest, error] = std::from_chars(value.data(), end, rank);
    if (error != std::errc() || rest != end || rank < 0)
      return fail("--rank: expected a number of at least 0, found '" + value +
                  "'");
    if (options.groups.empty() || options.groups.back().rank >= 0)
      return fail("expected a --group before --rank=" + value);
    options.groups.back().rank = rank;
    return true;
  }
  bool setValue(std::string_view name, const std::string &value) {
    if (name == "entry")
      options.entry = value;
    else if (name == "device")
      options.device = value;
    else if (name == "arg")
      options.argumentFiles.push_back(value);
    else if (name == "result")
      options.resultFiles.push_back(value);
    else if (name == "group")
      return addGroup(value);
    else if (name == "rank")
      return setRank(value);
    else
      return fail("unknown option --" + std::string(name));
    return true;
  }

  int count;
  char **words;
  mx::LaunchOptions &options;
  int at = 1;
};

} // namespace

extern "C" int mxLaunchMain(int argc, char **argv) {
  mx::handleOutOfMemory("mx-launch", mx::kExitBadInput);
  mx::LaunchOptions options;
  if (const char *device = std::getenv("MX_DEVICE"); device && *device)
    options.device = device;
  Parser parser(argc, argv, options);
  if (!parser.parse())
    return mx::kExitBadInput;
  if (parser.wantsHelp) {
    printf("%s", kUsage);
    return mx::kExitClean;
  }
  if (parser.wantsVersion) {
    printf("mx %s\n", mx::getVersion());
    return mx::kExitClean;
  }
  if (options.directory.empty()) {
    fprintf(stderr, "mx-launch: expected a directory to run, found none\n");
    return mx::kExitBadInput;
  }
  return mx::launch(options);
}
