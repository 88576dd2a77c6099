//===- Run.cpp - mx-sim run: a CUDA program on the simulator --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts the program with the simulator's libcuda and libcudart in front of
// others on the search path, and passes options in the environment. Processes
// append findings to files of a folder, so they also survive a crash.
//===----------------------------------------------------------------------===//

#include "Run.h"

#include "mxsim/ExitStatus.h"
#include "mxsim/Report.h"
#include "mxsim/RunOptions.h"
#include "mxsim/io/InputFile.h"
#include "mxsim/io/OutputFile.h"
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
#include <sys/prctl.h>
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
    {"--checks", "LIST",
     "Checks: all (default), none, or a list; -NAME disables a check", nullptr},
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
    {"--sarif", "FILE", "Write findings as SARIF 2.1.0", "MX_SIM_SARIF"},
    {"--ptx", "FOLDER", "Write the PTX of the program, to which findings refer",
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
  std::istringstream folders(path ? path : "/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!access((folder + "/" + name).c_str(), X_OK))
      return folder + "/" + name;
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

/// Reads the texts that all processes of the program wrote.
std::vector<std::string> readTexts(const std::string &path, char end = '\0') {
  std::string all;
  (void)mx::readInputFile(path, all);
  std::istringstream stream(all);
  std::vector<std::string> texts;
  for (std::string text; std::getline(stream, text, end);)
    texts.push_back(text);
  return texts;
}

pid_t running; ///< the program, for signals

} // namespace

int mx::sim::runProgram(int argc, char **argv) {
  CLI::App app("mx-sim run [OPTIONS] PROGRAM [ARGUMENTS...]\n"
               "Run a CUDA program, whose kernels need PTX, on the simulator, "
               "and report their faults. The exit status is that of the "
               "program, or 1 if it succeeds and there are findings.",
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
  std::error_code code;
  std::map<std::string, std::string> outputs; // options by file
  RunOptions check;
  for (auto &[option, value] : values) {
    if (value.empty())
      continue;
    std::string name = option->name + 2, why;
    std::string variable = RunOptions::variableOf(name);
    if (option->variable)
      variable = option->variable;
    else
      why = check.set(name, value);
    // The program may change its working directory.
    if (name == "ptx")
      fs::create_directories(value = fs::absolute(value).string(), code);
    if (name == "report" || name == "sarif") {
      auto [use, isNew] = outputs.emplace(
          fs::absolute(value).lexically_normal().string(), option->name);
      why = isNew ? mx::whyNotWritable(value)
                  : use->second + " and " + option->name +
                        " are the same file, " + value;
    }
    if (!why.empty())
      return refuse(why);
    setenv(variable.c_str(), value.c_str(), 1);
  }
  int next = argc - int(app.remaining_size());
  if (next < argc && argv[next][0] == '-')
    return refuse(std::string("run: unknown option '") + argv[next] +
                  "'; mx-sim run --help lists the options");
  if (next == argc)
    return refuse("run: expected a program; mx-sim run --help lists the "
                  "options");
  std::string name = argv[next], program = findProgram(name);
  if (program.empty())
    return refuse(
        name +
        (!fs::is_regular_file(name, code) ? ": expected a program, found none"
         : access(name.c_str(), X_OK)
             ? ": expected an executable, found a file without execute "
               "permission: compile a .cu file first"
             : ": expected a program on PATH, found none: write ./" + name));
  if (std::string why = whyUnusable(program); !why.empty())
    return refuse(why);
  for (auto &[path, option] : outputs)
    if (fs::equivalent(path, program, code))
      return refuse(option + " and the program are the same file, " + path);
  std::string libraries = findLibraries();
  if (libraries.empty())
    return refuse("run: expected libcuda.so.1 in lib/mx-sim beside bin, found "
                  "none: build mx-sim with the headers of CUDA 13");
  std::string folder =
      (fs::temp_directory_path(code) / "mx-sim-XXXXXX").string();
  if (!mkdtemp(folder.data()))
    return refuse(folder + ": " + strerror(errno));
  setenv("MX_SIM_FINDINGS", folder.c_str(), 1);
  // The simulator's libraries come before others.
  for (auto [variable, value] : {std::pair("LD_LIBRARY_PATH", libraries),
                                 {"LD_AUDIT", "libmxsim-audit.so"},
                                 {"LD_PRELOAD", "libmxsim-cuda.so"}}) {
    if (const char *others = getenv(variable); others && *others)
      value.append(":").append(others);
    setenv(variable, value.c_str(), 1);
  }
  // Signals wait until this process handles them.
  sigset_t signals, before;
  sigemptyset(&signals);
  for (int number : {SIGINT, SIGQUIT, SIGTERM})
    sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, &before);
  volatile int error = 0; // the child sets it
  running = vfork();
  if (!running) {
    // Without mx-sim, the program ends too.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    execv(program.c_str(), argv + next);
    error = errno;
    _exit(kExitBadInput);
  }
  if (running < 0 || error) {
    rmdir(folder.c_str());
    return refuse(program + ": " + strerror(error ? error : errno));
  }
  // Signals end the program; this process then prints the findings. A terminal
  // signals both, so only signals of processes are forwarded.
  struct sigaction forward = {};
  forward.sa_flags = SA_SIGINFO | SA_RESTART;
  forward.sa_sigaction = [](int number, siginfo_t *info, void *) {
    if (info->si_code <= 0)
      kill(running, number);
  };
  for (int number : {SIGINT, SIGQUIT, SIGTERM})
    sigaction(number, &forward, nullptr);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int end;
  if (waitpid(running, &end, 0) < 0)
    return refuse(program + ": " + strerror(errno));
  int status = WIFEXITED(end) ? WEXITSTATUS(end) : 128 + WTERMSIG(end);
  uint64_t count = 0, errors = 0;
  for (const std::string &line : readTexts(folder + "/findings", '\n')) {
    bool isFirst = line.empty() || line[0] != ' ';
    count += isFirst;
    errors += isFirst && line.find(": warning: ") == line.npos;
    std::cerr << line << "\n";
  }
  // Start: "PID KERNEL"; end: "PID", or "PID " if the launch is refused.
  uint64_t launches = 0;
  std::map<std::string, std::string> kernels; // by process
  for (const std::string &line : readTexts(folder + "/launches", '\n')) {
    size_t at = std::min(line.find(' '), line.size());
    launches += at == line.size();
    kernels[line.substr(0, at)] = line.substr(std::min(at + 1, line.size()));
  }
  std::vector<std::string> interrupted;
  std::string unfinished;
  for (auto &[process, kernel] : kernels)
    if (!kernel.empty()) {
      interrupted.push_back(kernel);
      unfinished +=
          ", interrupted in kernel " + mx::printable(shortName(kernel));
    }
  auto counted = [](uint64_t number, const char *one, const char *many) {
    return std::to_string(number) + " " + (number == 1 ? one : many);
  };
  std::cerr << "mx-sim: " << mx::printable(argv[next]) << ": "
            << counted(launches, "launch", "launches") << ", "
            << (count                ? counted(count, "finding", "findings")
                : !launches          ? "nothing checked"
                : unfinished.empty() ? "clean"
                                     : "no findings")
            << unfinished << "\n";
  if (WIFSIGNALED(end))
    std::cerr << "mx-sim: " << mx::printable(argv[next]) << ": ended by signal "
              << WTERMSIG(end) << "\n";
  if (check.warnings == RunOptions::Warnings::Error)
    errors = count;
  if (!status && errors)
    status = kExitFault;
  for (auto &[path, option] : outputs) {
    std::vector<std::string> texts = readTexts(folder + "/" + option.substr(2));
    std::string why = mx::writeOutputFile(
        path,
        {option == "--sarif" ? joinResults(texts, status < 128)
                             : joinLaunches(texts, status, {}, interrupted)});
    if (!why.empty())
      status = refuse(why);
  }
  fs::remove_all(folder, code);
  return status;
}
