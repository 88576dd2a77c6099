//===- Run.cpp - mx-sim run: a CUDA program on the simulator --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts the program with the simulator's libcuda and libcudart in front of
// others on the search path, and passes options in the environment. Findings
// come back in a file, so they also survive a program that crashes.
//===----------------------------------------------------------------------===//

#include "Run.h"

#include "mxsim/ExitStatus.h"
#include "mxsim/RunOptions.h"
#include "mxsim/io/InputFile.h"
#include "mxsim/io/Printable.h"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace mx::sim;

namespace {

/// Option of `mx-sim run`. Its value is passed as an environment variable.
struct RunOption {
  const char *name, *value, *help, *variable;
};

/// Options that LaunchConfig knows are checked before the program starts.
const RunOption kOptions[] = {
    {"--chip", "NAME",
     "Chip: h200, b200 or rtx5090; default: the one for the newest PTX of the "
     "program",
     "MX_SIM_CHIP"},
    {"--devices", "N", "Number of devices; default: 1", "MX_SIM_DEVICES"},
    {"--checks", "LIST", "Checks: all (default), none, or a list", nullptr},
    {"--seed", "N", "Order of warps, CTAs and asynchronous completions",
     nullptr},
    {"--jobs", "N", "Host threads; 0 (default): one per core", nullptr},
    {"--sm-count", "N", "Number of SMs; default: that of the chip", nullptr},
    {"--instruction-limit", "N", "Limit of a launch, in warp instructions",
     nullptr},
    {"--time", "CHIP",
     "Model the time of kernels on h200 or b200; events "
     "measure modelled time",
     nullptr},
    {"--warnings", "HOW",
     "Warnings: print (default), none, or error, which fails the run", nullptr},
    {"--report", "FILE", "Write findings and counts of all launches as JSON",
     nullptr},
    {"--ptx", "FOLDER",
     "Write the PTX of the program's modules, to which "
     "findings refer",
     "MX_SIM_PTX"},
};

int refuse(const std::string &why) {
  std::cerr << "mx-sim: error: " << mx::printable(why) << "\n";
  return kExitBadInput;
}

/// Returns the path of a program as a shell finds it, or "".
std::string findProgram(const std::string &name) {
  if (name.find('/') != name.npos)
    return access(name.c_str(), X_OK) ? "" : name;
  const char *path = getenv("PATH");
  std::string all = path ? path : "/bin:/usr/bin";
  for (size_t begin = 0; begin <= all.size();) {
    size_t end = std::min(all.find(':', begin), all.size());
    std::string candidate = all.substr(begin, end - begin) + "/" + name;
    if (!access(candidate.c_str(), X_OK))
      return candidate;
    begin = end + 1;
  }
  return "";
}

/// Returns the reason for which a program cannot be run, or "". Scripts, and
/// programs without kernels of nvcc, are not examined.
std::string whyUnusable(const std::string &path) {
  std::string bytes;
  if (!mx::readInputFile(path, bytes).empty() ||
      bytes.compare(0, SELFMAG, ELFMAG) != 0)
    return "";
  constexpr std::string_view kRuntime("libcudart.so.13\0", 16);
  size_t at = bytes.find("libcudart.so.");
  if (at == bytes.npos || bytes.find(kRuntime) != bytes.npos ||
      bytes.find("__cudaRegisterFatBinary") == bytes.npos)
    return "";
  return path + ": expected the runtime of CUDA 13, found " +
         std::string(bytes.c_str() + at) + ": build the program with CUDA 13";
}

/// Folder with the simulator's libcuda.so.1 and libcudart.so.13, or "".
std::string findLibraries() {
  std::error_code code;
  fs::path self = fs::read_symlink("/proc/self/exe", code);
  fs::path folder = self.parent_path().parent_path() / "lib" / "mx-sim";
  return fs::exists(folder / "libcuda.so.1", code) ? folder.string() : "";
}

struct Findings {
  std::string text;
  uint64_t launches = 0, count = 0, errors = 0;
};

/// Reads the findings of all processes of the program.
Findings readFindings(const std::string &path) {
  Findings found;
  std::string all;
  (void)mx::readInputFile(path, all);
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, 10, "launches: ") == 0) {
      found.launches += std::stoull(line.substr(10));
      continue;
    }
    bool isFirst = line.empty() || line[0] != ' ';
    found.count += isFirst;
    found.errors += isFirst && line.find(": warning: ") == line.npos;
    found.text += line + "\n";
  }
  return found;
}

/// Waits for the program. Returns its exit status as a shell does.
int await(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return kExitBadInput;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

int mx::sim::runProgram(int argc, char **argv) {
  CLI::App app("mx-sim run [OPTIONS] PROGRAM [ARGUMENTS...]\n"
               "Run a CUDA program on the simulator, and report the faults of "
               "its kernels. The program is linked with -cudart shared, or "
               "loads libcuda; its kernels need PTX. The exit status is that "
               "of the program, or 1 if the program succeeds and there are "
               "findings.",
               "mx-sim run");
  app.prefix_command();
  std::map<const RunOption *, std::string> values;
  for (const RunOption &option : kOptions)
    app.add_option(option.name, values[&option], option.help)
        ->type_name(option.value);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &answer) {
    return app.exit(answer);
  } catch (const CLI::ParseError &error) {
    return refuse(std::string("run: ") + error.what() +
                  "; mx-sim run --help lists the options");
  }
  RunOptions check;
  for (auto &[option, value] : values) {
    if (value.empty())
      continue;
    std::string name = option->name + 2,
                variable = option->variable ? option->variable : "";
    if (variable.empty()) {
      variable = RunOptions::variableOf(name);
      if (std::string why = check.set(name, value); !why.empty())
        return refuse(why);
    }
    // The program may change its working directory.
    if (name == "report" || name == "ptx")
      value = fs::absolute(value).string();
    setenv(variable.c_str(), value.c_str(), 1);
  }
  int next = argc - int(app.remaining_size());
  if (next < argc && argv[next][0] == '-')
    return refuse(std::string("run: unknown option '") + argv[next] +
                  "'; mx-sim run --help lists the options");
  if (next == argc)
    return refuse("run: expected a program; mx-sim run --help lists the "
                  "options");
  std::string program = findProgram(argv[next]);
  if (program.empty())
    return refuse(std::string(argv[next]) + ": expected a program, found " +
                  strerror(errno));
  if (std::string why = whyUnusable(program); !why.empty())
    return refuse(why);
  std::string libraries = findLibraries();
  if (libraries.empty())
    return refuse("run: expected libcuda.so.1 in lib/mx-sim beside bin, found "
                  "none: build mx-sim with the headers of CUDA 13");
  std::error_code code;
  std::string findings =
      (fs::temp_directory_path(code) / "mx-sim-XXXXXX").string();
  int file = mkstemp(findings.data());
  if (file < 0)
    return refuse(findings + ": " + strerror(errno));
  close(file);
  setenv("MX_SIM_FINDINGS", findings.c_str(), 1);
  // The simulator's libraries come before others.
  for (auto [variable, first] :
       {std::pair("LD_LIBRARY_PATH", libraries.c_str()),
        {"LD_AUDIT", "libmxsim-audit.so"},
        {"LD_PRELOAD", "libmxsim-cuda.so"}}) {
    const char *others = getenv(variable);
    setenv(
        variable,
        (first + (others && *others ? std::string(":") + others : "")).c_str(),
        1);
  }
  // A terminal interrupts both; this process then prints the findings.
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    execv(program.c_str(), argv + next);
    _exit(refuse(program + ": " + strerror(errno)));
  }
  int status = child < 0 ? refuse(strerror(errno)) : await(child);
  auto [text, launches, count, errors] = readFindings(findings);
  unlink(findings.c_str());
  auto counted = [](uint64_t number, const char *one, const char *many) {
    return std::to_string(number) + " " + (number == 1 ? one : many);
  };
  std::cerr << text << "mx-sim: " << mx::printable(argv[next]) << ": "
            << counted(launches, "launch", "launches") << ", "
            << (count ? counted(count, "finding", "findings") : "clean")
            << "\n";
  if (status >= 128)
    std::cerr << "mx-sim: " << mx::printable(argv[next]) << ": ended by signal "
              << status - 128 << "\n";
  if (check.warnings == RunOptions::Warnings::Error)
    errors = count;
  return status || !errors ? status : kExitFault;
}
