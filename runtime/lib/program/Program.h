//===- Program.h - Compiled programs ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs and entries are immutable, so threads may launch them concurrently.
// A program is loaded on a device at its first launch there.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_PROGRAM_H
#define MX_RUNTIME_LIB_PROGRAM_PROGRAM_H

#include "BoundGroups.h"
#include "mx/Support/CallerStructs.h"
#include "mx_program.h"

#include <array>
#include <atomic>
#include <filesystem>
#include <mutex>

namespace mx::runtime {

/// Resources of a program on a device.
struct ProgramOnDevice {
  explicit ProgramOnDevice(Device &device) : device(device) {}
  ~ProgramOnDevice() { (void)unload(); }
  /// Frees the resources; returns the first error.
  Error unload();

  Device &device;
  std::unique_ptr<Module> module;
  /// Kernels in manifest order, destroyed before their module.
  std::vector<std::unique_ptr<Function>> kernels;
  /// Addresses of the constants. Null for empty constants.
  std::vector<int64_t> constants;
};

/// Stamps of a program's files. Each device reads the files again. Changed
/// files are rejected, because kernels of a later compilation may take
/// different arguments.
class FileStamps {
public:
  void note(const std::string &path);
  /// Fails if a file differs from its stamp.
  Error check() const;

private:
  struct Stamp {
    std::string path;
    /// Error code if the file is missing.
    std::error_code missing;
    uintmax_t bytes = 0;
    std::filesystem::file_time_type time;
  };
  static Stamp read(const std::string &path);
  std::vector<Stamp> stamps;
};

class Program;

struct Entry {
  const plan::Entry *plan;
  Program *program;
  /// Storage for mxValueInfo.
  std::vector<std::vector<int64_t>> resultShapes;
  /// Result of plan::findAddresses.
  std::vector<bool> addresses;
  /// Unique number of the entry, because addresses are reused.
  int64_t serial = 0;
  /// Results of runtime::canCache and countWords.
  bool canCache = false;
  size_t wordCount = 0;
};

class Program {
public:
  ~Program();
  /// Returns the program on a device. The first use loads the program and waits
  /// for the device, so the call fails if a CUDA graph captures `stream`.
  Error find(Device &device, void *stream, const ProgramOnDevice *&loaded) {
    loaded = places[size_t(device.index)].load(std::memory_order_acquire);
    return loaded ? Error() : load(device, stream, loaded);
  }
  /// Unloads from all devices; returns the first error.
  Error unload();

  plan::Manifest manifest;
  /// Hash of the manifest's text and the version of mx.
  uint64_t fingerprint = 0;
  BoundGroups groups;
  std::vector<Entry> entries;
  std::vector<mxEntry> handles;

  /// Sources of kernels and constants, read for each device: either a directory
  /// or the caller's data.
  std::string directory, kernels, constants, name;
  /// Stamps of the directory's files.
  FileStamps files;

private:
  Error load(Device &device, void *stream, const ProgramOnDevice *&loaded);
  Error loadKernels(ProgramOnDevice &loaded) const;
  Error loadConstants(ProgramOnDevice &loaded) const;

  std::mutex mutex;
  std::array<std::atomic<ProgramOnDevice *>, kMostDevices> places = {};
};

Error loadProgram(const char *directory, mxProgram &program);
Error loadProgram(const mxProgramParts &parts, mxProgram &program);
Error unloadProgram(mxProgram program);
Error getEntry(mxProgram program, const char *name, mxEntry &entry);
Error getEntry(mxProgram program, int32_t index, mxEntry &entry);
Error countEntries(mxProgram program, int32_t &count);
/// Finds the program of a handle and keeps the program alive.
Error findProgram(mxProgram handle, std::shared_ptr<Program> &program);
/// Collective. Binds the group to the program on the current device.
Error bindGroup(Program &program, const char *name, mxGroup group);
/// Finds the entry of a handle and keeps the entry alive.
Error findEntry(mxEntry handle, std::shared_ptr<const Entry> &entry);

struct Call {
  /// Array of `argumentCount` arguments, or null.
  const mxArgument *first;
  int32_t argumentCount;
  void *const *results = nullptr;
  int32_t resultCount = 0;
  void *workspace = nullptr;
  size_t workspaceBytes = 0;
  void *stream = nullptr;

  CallerArray<mxArgument> arguments = {first, argumentCount};
};

/// Writes the shape of result `index` to `shape`.
Error getResultShape(const Entry &entry, const Call &call, int32_t index,
                     int64_t *shape);
Error getWorkspaceBytes(const Entry &entry, const Call &call, size_t &bytes);
Error launchEntry(const Entry &entry, const Call &call);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_PROGRAM_H
