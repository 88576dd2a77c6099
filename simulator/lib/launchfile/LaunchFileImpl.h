//===- LaunchFileImpl.h - Reader of launch files ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LaunchValues.cpp creates memory and encodes values, and LaunchFile.cpp runs
// launches and writes outputs.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_LAUNCHFILE_LAUNCHFILEIMPL_H
#define MXSIM_LIB_LAUNCHFILE_LAUNCHFILEIMPL_H

#include "FileUses.h"
#include "mxsim/LaunchFile.h"
#include "mxsim/World.h"
#include "mxsim/io/Json.h"

#include <map>
#include <set>

namespace mx::sim {

struct Buffer {
  uint64_t address = 0, bytes = 0;
  std::string dtype; ///< dtype of the source .npy file
  std::vector<int64_t> shape;
};

class LaunchFile {
public:
  explicit LaunchFile(const LaunchFileOptions &options);
  LaunchFileResult run();

private:
  const LaunchFileOptions &options;
  LaunchFileResult result;
  std::string jsonError; ///< error with a location in the launch file
  std::string error;     ///< any other error
  std::string directory, text;
  FileUses files;
  /// Entry of "devices", or the only device.
  struct Device {
    DeviceMemory *memory;
    std::map<std::string, Buffer> buffers;
    std::map<std::string, std::vector<uint8_t>> tensorMaps;
  };
  /// Module, parsed once for each device.
  struct LoadedModule {
    std::vector<std::unique_ptr<Module>> ofDevices;
    std::string path, text;
    bool isOfCommandLine;
  };
  std::optional<DeviceMemory> onlyMemory;
  std::unique_ptr<World> world; ///< null without "devices"
  std::vector<LoadedModule> modules;
  std::vector<Device> devices;
  /// Index of the current device.
  size_t number = 0;
  Device &device() { return devices[number]; }
  DeviceMemory &memory() { return *device().memory; }
  LaunchConfig defaults;

  /// Reports an error without a location in the JSON text.
  bool fail(const std::string &message) {
    if (error.empty())
      error = message;
    return false;
  }
  /// Computes the path of a file named in the launch file. Returns "", or the
  /// reason if the file may not be read or, if `isOutput`, written.
  std::string resolve(const std::string &name, bool isOutput,
                      std::string &path) const;
  /// Return true unless a written file is used twice. Check the files of the
  /// command line and of the launch file, even if the launch file contains
  /// other errors.
  bool checkFiles();
  bool checkFiles(const Json &root);
  bool checkFilesOfDevice(const JsonReader &json);
  bool checkFile(const JsonReader &at, const std::string &what, bool isOutput);
  /// Loads a module, unless its text is already loaded. A recorded launch file
  /// names its module, and the command line may name the same module.
  bool loadModule(const std::string &path, bool isOfCommandLine);
  std::string parseModule(const std::string &path, const std::string &text,
                          std::unique_ptr<Module> &module);
  std::string adviceOnModules() const;
  std::string adviceOnLines() const;
  bool linkModules();
  /// Create the buffers, and handle the other keys that describe memory. The
  /// buffers of all devices are created first.
  bool makeBuffers(const JsonReader &json);
  bool fillMemory(const JsonReader &json);
  bool makeBuffer(const std::string &name, const JsonReader &json);
  bool makeTensorMap(const std::string &name, const JsonReader &json);
  bool patchBuffer(const std::string &name, const JsonReader &json);
  /// Returns true if no "?" of a template remains.
  bool isFilledIn(const JsonReader &json);
  bool readDim(const JsonReader &json, Dim3 &dim);
  bool readLaunch(const JsonReader &json, LaunchConfig &config);
  bool readArguments(const JsonReader &json, const KernelInfo &kernel,
                     LaunchConfig &config);
  /// Encodes an argument, field or patch. `used` contains keys already read by
  /// the caller.
  bool value(const JsonReader &json, std::vector<uint8_t> &bytes,
             unsigned &align, std::set<std::string> used);
  bool structure(const JsonReader &json, std::vector<uint8_t> &bytes,
                 unsigned &align);
  const Buffer *findBuffer(const JsonReader &json, const std::string &name);
  /// Finds a buffer, on another device if `json` has the key "device".
  const Buffer *findBufferOf(const JsonReader &json, const JsonReader &name);
  bool findKernel(const JsonReader &json, Module *&module,
                  const KernelInfo *&kernel);
  bool readDefaults(const JsonReader &json);
  bool makeDevices(const JsonReader &json);
  bool runDevice(const JsonReader &json);
  bool runDevices(const JsonReader &json);
  bool writeOutputs(const JsonReader &json, bool write);
  bool runSteps(const JsonReader &json);
  bool oneLaunch(const JsonReader &json);
  /// Runs `step` once all earlier work of the device's stream is complete.
  void perform(std::function<void()> step);
  bool memset(const JsonReader &json);
  bool copy(const JsonReader &json);
  /// If `write` is false, only checks that the output could be written.
  bool writeOutput(const std::string &name, const JsonReader &json, bool write);
  bool setGlobals(const JsonReader &json);
};

} // namespace mx::sim

#endif // MXSIM_LIB_LAUNCHFILE_LAUNCHFILEIMPL_H
