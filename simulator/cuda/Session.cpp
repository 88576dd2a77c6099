//===- Session.cpp - Start, launches, findings, and the end ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "mxsim/ExitStatus.h"
#include "mxsim/io/Printable.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

using namespace mx::sim;
using namespace mx::sim::cuda;

/// Name of the interface function that runs, for messages.
static thread_local const char *currentCall = "";
thread_local cudaError_t mx::sim::cuda::lastError = cudaSuccess;

/// Sizes come from NVIDIA's tuning guides; clocks are maxima.
static const Chip kChips[] = {
    {"h200", "NVIDIA H200 (mx-sim)", {9, 0}, 132, 228 << 10, 227 << 10, 50 << 20, 1980000, 3201000, 6144},
    {"b200", "NVIDIA B200 (mx-sim)", {10, 0}, 148, 228 << 10, 227 << 10, 126 << 20, 1965000, 3996000, 8192},
    {"rtx5090", "NVIDIA GeForce RTX 5090 (mx-sim)", {12, 0}, 170, 100 << 10, 99 << 10, 96 << 20, 2407000, 14001000,
        512},
};

Session &Session::get() {
  // Never destroyed: global destructors of the program call the interface.
  static Session *session = new Session;
  return *session;
}

int &Session::current() {
  static thread_local int device = 0;
  return device;
}

/// Returns the chip for the newest PTX of the program, unless --chip names one.
static const Chip *chooseChip(const Session &session, std::string &error) {
  if (const char *asked = getenv("MX_SIM_CHIP"); asked && *asked) {
    std::string names;
    for (const Chip &chip : kChips) {
      if (chip.name == asked)
        return &chip;
      names += (names.empty() ? "" : ", ") + std::string(chip.name);
    }
    error = "--chip: expected one of " + names + ", found '" + asked + "'";
    return nullptr;
  }
  const Chip *newest = &kChips[0];
  for (const std::unique_ptr<Program> &program : session.programs) {
    if (!program->read().empty())
      continue;
    for (const Chip &chip : kChips)
      if (targetRunsOn(program->newest.target, chip.capability) &&
          !targetRunsOn(program->newest.target, newest->capability))
        newest = &chip;
  }
  return newest;
}

void Session::start() {
  if (!devices.empty())
    return;
  std::string error = options.readEnvironment();
  if (error.empty())
    chip = chooseChip(*this, error);
  int count = 1;
  if (const char *text = getenv("MX_SIM_DEVICES"); text && *text) {
    char *end;
    long number = strtol(text, &end, 10);
    if (*end || number < 1 || number > DeviceMemory::kMostDevices)
      error = "MX_SIM_DEVICES: expected a number from 1 to " + std::to_string(DeviceMemory::kMostDevices) +
              ", found '" + text + "'";
    count = int(number);
  }
  if (!error.empty()) {
    fprintf(stderr, "mx-sim: error: %s\n", mx::printable(error).c_str());
    _exit(kExitBadInput);
  }
  if (!getenv("MX_SIM_SM_COUNT") && options.timedChip.empty())
    options.smCount = chip->sms;
  // No host memory is mapped in the range of the devices.
  mmap(reinterpret_cast<void *>(DeviceMemory::kBase), uint64_t(count) * DeviceMemory::kBytes, PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  std::vector<DeviceMemory *> memories;
  for (int i = 0; i < count; ++i) {
    devices.push_back(std::make_unique<Device>(i, DeviceMemory::defaultCapacity() / unsigned(count)));
    memories.push_back(&devices.back()->memory);
  }
  if (count > 1)
    DeviceMemory::connect(memories);
}

void Session::settle() {
  for (std::unique_ptr<Device> &device : devices)
    device->memory.settle();
}

/// Appends to a file that `mx-sim run` reads at the end. A single write keeps
/// the texts of several processes apart.
static bool append(const std::string &name, const std::string &text) {
  const char *folder = getenv("MX_SIM_FINDINGS");
  int file = folder ? open((folder + name).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
  bool isWritten = write(file, text.data(), text.size()) == ssize_t(text.size());
  return !close(file) && isWritten;
}

static void printFinding(const std::string &text) {
  if (!append("/findings", mx::printable(text)))
    fputs(mx::printable(text).c_str(), stderr);
}

Status Session::report(Status status, const std::string &why) {
  std::string text = std::string(currentCall) + ": " + why;
  if (!printed.insert(text).second)
    return status;
  // Kernels that cannot run are findings, since programs may ignore the status.
  if (status == CUDA_ERROR_NO_BINARY_FOR_GPU || status == CUDA_ERROR_INVALID_PTX)
    printFinding("error: " + text + "\n");
  else
    fprintf(stderr, "mx-sim: %s\n", mx::printable(text).c_str());
  return status;
}

Status mx::sim::cuda::run(const char *name, bool isRuntime, const std::function<void()> &body, bool needsStart) {
  Session &session = Session::get();
  std::lock_guard<std::recursive_mutex> lock(session.mutex);
  const char *outer = std::exchange(currentCall, name);
  Status status = CUDA_SUCCESS;
  try {
    if (needsStart) {
      session.start();
      require(!session.sticky, session.sticky);
    }
    body();
  } catch (Status refusal) { status = refusal; } catch (const std::bad_alloc &) {
    status = session.report(CUDA_ERROR_OUT_OF_MEMORY, "host memory ran out");
  }
  currentCall = outer;
  if (isRuntime && status && status != CUDA_ERROR_NOT_READY)
    lastError = cudaError_t(status);
  return status;
}

double mx::sim::cuda::now() {
  Session &session = Session::get();
  if (!session.options.timedChip.empty())
    return session.modelled;
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Returns the status of a launch that did not end: the one that a GPU reports
/// for the first fatal fault.
static Status statusOf(const LaunchReport &report) {
  for (const Finding &finding : report.findings)
    switch (finding.kind) {
    case FindingKind::BadLaunch: return CUDA_ERROR_INVALID_VALUE;
    case FindingKind::Unsupported: return CUDA_ERROR_NOT_SUPPORTED;
    case FindingKind::Deadlock:
    case FindingKind::InstructionLimit: return CUDA_ERROR_LAUNCH_TIMEOUT;
    case FindingKind::Trap:
      return finding.message.compare(0, 9, "assertion") == 0 ? CUDA_ERROR_ASSERT : CUDA_ERROR_LAUNCH_FAILED;
    case FindingKind::OutOfBounds: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case FindingKind::Misaligned: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case FindingKind::IllegalInstruction: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    default: break;
    }
  return CUDA_ERROR_LAUNCH_FAILED;
}

void Session::note(const LaunchReport &report, const Image &image) {
  LaunchFileResult added;
  LaunchReport &fresh = added.reports.emplace_back();
  fresh.facts = report.facts;
  for (const Finding &finding : report.findings)
    if (!(finding.isWarning && options.warnings == RunOptions::Warnings::None) &&
        found.insert({report.facts.kernel, int(finding.kind), finding.ptxLine}).second) {
      printFinding(finding.text() + "\n");
      fresh.findings.push_back(finding);
    }
  if (image.lacksLines && !fresh.findings.empty()) {
    std::string arch = "compute_" + image.target.substr(3);
    this->report(CUDA_SUCCESS,
        image.name + ": findings name no lines of the source: expected PTX in the program, found only its copy in " +
            "debug information: compile with -gencode arch=" + arch + ",code=" + arch);
  }
  if (!options.report.empty())
    append("/report", launchAsJson(report) + '\0');
  if (const char *folder = getenv("MX_SIM_PTX"))
    added.modulePaths = {std::string(folder) + "/" + report.facts.module};
  if (getenv("MX_SIM_SARIF"))
    for (const std::string &result : resultsAsSarif(added))
      append("/sarif", result + '\0');
}

void Session::launch(const Operation &kernel, int device) {
  const Function &function = *kernel.function;
  LaunchConfig config;
  options.apply(config);
  config.kernel = function.name;
  config.grid = kernel.grid;
  config.block = kernel.block;
  config.cluster = kernel.cluster;
  config.dynamicSharedBytes = kernel.dynamicShared;
  config.parameters = kernel.parameters;
  config.programmatic = kernel.isProgrammatic;
  config.cooperative = kernel.isCooperative;
  config.maxDynamicSharedBytes = uint32_t(function.mostShared());
  config.nonPortableCluster = function.nonPortableCluster;
  // If the process is killed here, `mx-sim run` names the kernel.
  std::string process = std::to_string(getpid());
  append("/launches", process + " " + function.name + "\n");
  LaunchReport report = mx::sim::launch(function.program->on(device), devices[size_t(device)]->memory, config);
  bool isRefused = report.status == LaunchStatus::BadInput && statusOf(report) == CUDA_ERROR_INVALID_VALUE;
  append("/launches", process + (isRefused ? " \n" : "\n"));
  modelled += report.time.microseconds();
  if (isRefused)
    invalid(report.text());
  note(report, function.program->newest);
  if (options.timeLines)
    fputs(mx::printable(linesText(report, options.timeLines)).c_str(), stderr);
  if (!report.isComplete)
    sticky = statusOf(report);
}
