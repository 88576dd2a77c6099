//===- Program.h - Compiled programs ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program and its entries do not change, so that any number of threads may
// launch them. It is loaded on a device when it is first launched there.
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

/// What a program has on one device.
struct ProgramOnDevice {
  explicit ProgramOnDevice(Device &device) : device(device) {}
  ~ProgramOnDevice() { (void)unload(); }
  /// Gives it back; the first error.
  Error unload();

  Device &device;
  std::unique_ptr<Module> module;
  /// Of the manifest, in its order. They go before their module.
  std::vector<std::unique_ptr<Function>> kernels;
  /// Addresses; null for one without bytes.
  std::vector<int64_t> constants;
};

/// Files that are read again for another device, as they were at first: a
/// kernel of a later compilation may take other arguments.
class FileStamps {
public:
  void note(const std::string &path);
  /// That all of them are as they were noted.
  Error check() const;

private:
  struct Stamp {
    std::string path;
    /// Of a file that is not there an error code.
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
  /// What mxValueInfo points at.
  std::vector<std::vector<int64_t>> resultShapes;
  /// Of plan::findAddresses.
  std::vector<bool> addresses;
  /// No other entry has it, nor had: addresses are used again.
  int64_t serial = 0;
  /// Of runtime::canCache and countWords.
  bool canCache = false;
  size_t wordCount = 0;
};

class Program {
public:
  ~Program();
  /// On a device, loaded there first if it is not yet: that waits, so that
  /// `stream` must not be captured.
  Error find(Device &device, void *stream, const ProgramOnDevice *&loaded) {
    loaded = places[size_t(device.index)].load(std::memory_order_acquire);
    return loaded ? Error() : load(device, stream, loaded);
  }
  /// From all devices; the first error.
  Error unload();

  plan::Manifest manifest;
  /// Of the manifest's text and the version of mx.
  uint64_t fingerprint = 0;
  BoundGroups groups;
  std::vector<Entry> entries;
  std::vector<mxEntry> handles;

  /// Where the kernels and constants are read, again for each device: a
  /// directory or, where there is none, what the caller gave.
  std::string directory, kernels, constants, name;
  /// Of the directory.
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
/// The program of a handle, which stays while this does.
Error findProgram(mxProgram handle, std::shared_ptr<Program> &program);
/// Collective: that group of the program becomes the one of the handle, on the
/// device in use.
Error bindGroup(Program &program, const char *name, mxGroup group);
/// The entry of a handle, which stays while this does.
Error findEntry(mxEntry handle, std::shared_ptr<const Entry> &entry);

struct Call {
  /// As many as the count says, unless it is null.
  const mxArgument *first;
  int32_t argumentCount;
  void *const *results = nullptr;
  int32_t resultCount = 0;
  void *workspace = nullptr;
  size_t workspaceBytes = 0;
  void *stream = nullptr;

  CallerArray<mxArgument> arguments = {first, argumentCount};
};

/// The shape of result `index`, into `shape`.
Error getResultShape(const Entry &entry, const Call &call, int32_t index,
                     int64_t *shape);
Error getWorkspaceBytes(const Entry &entry, const Call &call, size_t &bytes);
Error launchEntry(const Entry &entry, const Call &call);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_PROGRAM_H
