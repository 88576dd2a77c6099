//===- LaunchFileImpl.h - a launch file while it is read --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parts of the reader share: memory and values in LaunchValues.cpp,
// launches and outputs in LaunchFile.cpp.
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
  std::string dtype; ///< of the .npy file it came from
  std::vector<int64_t> shape;
};

class LaunchFile {
public:
  explicit LaunchFile(const LaunchFileOptions &options);
  LaunchFileResult run();

private:
  const LaunchFileOptions &options;
  LaunchFileResult result;
  std::string jsonError; ///< at a place in the launch file
  std::string error;     ///< any other
  std::string directory, text;
  FileUses files;
  /// What the file has under "devices", or the only device.
  struct Device {
    DeviceMemory *memory;
    std::map<std::string, Buffer> buffers;
    std::map<std::string, std::vector<uint8_t>> tensorMaps;
  };
  /// A module is parsed once for each device.
  struct LoadedModule {
    std::vector<std::unique_ptr<Module>> ofDevices;
    std::string path, text;
    bool isOfCommandLine;
  };
  std::optional<DeviceMemory> onlyMemory;
  std::unique_ptr<World> world; ///< null without "devices"
  std::vector<LoadedModule> modules;
  std::vector<Device> devices;
  /// The device that is being read.
  size_t number = 0;
  Device &device() { return devices[number]; }
  DeviceMemory &memory() { return *device().memory; }
  LaunchConfig defaults;

  /// An error that is not at a place in the JSON text.
  bool fail(const std::string &message) {
    if (error.empty())
      error = message;
    return false;
  }
  /// Computes the path of a file that the launch file names. Returns "" or why
  /// the file may not be read or, if `isOutput`, written.
  std::string resolve(const std::string &name, bool isOutput,
                      std::string &path) const;
  /// Whether every file that is written has one use: of those that the command
  /// line names, and of those that the launch file does, whatever else is wrong
  /// with it.
  bool checkFiles();
  bool checkFiles(const Json &root);
  bool checkFilesOfDevice(const JsonReader &json);
  bool checkFile(const JsonReader &at, const std::string &what, bool isOutput);
  /// A text that is there already is not loaded again: recorded launch files
  /// name their module themselves.
  bool loadModule(const std::string &path, bool isOfCommandLine);
  std::string parseModule(const std::string &path, const std::string &text,
                          std::unique_ptr<Module> &module);
  std::string adviceOnModules() const;
  std::string adviceOnLines() const;
  bool linkModules();
  /// What stands beside "buffers": of all devices, buffers come first.
  bool makeBuffers(const JsonReader &json);
  bool fillMemory(const JsonReader &json);
  bool makeBuffer(const std::string &name, const JsonReader &json);
  bool makeTensorMap(const std::string &name, const JsonReader &json);
  bool patchBuffer(const std::string &name, const JsonReader &json);
  /// Whether the launch file has no "?" of a template any more.
  bool isFilledIn(const JsonReader &json);
  bool readDim(const JsonReader &json, Dim3 &dim);
  bool readLaunch(const JsonReader &json, LaunchConfig &config);
  bool readArguments(const JsonReader &json, const KernelInfo &kernel,
                     LaunchConfig &config);
  /// The bytes of one argument, field or patch. `used` names the keys that the
  /// caller has read.
  bool value(const JsonReader &json, std::vector<uint8_t> &bytes,
             unsigned &align, std::set<std::string> used);
  bool structure(const JsonReader &json, std::vector<uint8_t> &bytes,
                 unsigned &align);
  const Buffer *findBuffer(const JsonReader &json, const std::string &name);
  /// The same of another device, if `json` has the key "device".
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
  /// The device does it when all before it in its stream is done.
  void perform(std::function<void()> step);
  bool memset(const JsonReader &json);
  bool copy(const JsonReader &json);
  /// With `write` false it only looks whether it could.
  bool writeOutput(const std::string &name, const JsonReader &json, bool write);
  bool setGlobals(const JsonReader &json);
};

} // namespace mx::sim

#endif // MXSIM_LIB_LAUNCHFILE_LAUNCHFILEIMPL_H
