//===- LaunchFileImpl.h - a launch file while it is read --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parts of the reader share: memory and values in LaunchValues.cpp,
// launches and outputs in LaunchFile.cpp.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_LAUNCHFILE_LAUNCHFILEIMPL_H
#define MX_LIB_SIMULATOR_LAUNCHFILE_LAUNCHFILEIMPL_H

#include "FileUses.h"
#include "Json.h"

#include "mx/Simulator/LaunchFile.h"

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
  explicit LaunchFile(const LaunchFileOptions &options)
      : options(options),
        memory(options.memoryBytes ? options.memoryBytes
                                   : DeviceMemory::defaultCapacity()) {}
  LaunchFileResult run();

private:
  const LaunchFileOptions &options;
  LaunchFileResult result;
  JsonError jsonError; ///< at a place in the launch file
  std::string error;   ///< any other
  std::string directory, text;
  FileUses files;
  DeviceMemory memory;
  struct LoadedModule {
    std::unique_ptr<Module> module;
    std::string path, text;
    bool isOfCommandLine;
  };
  std::vector<LoadedModule> modules;
  std::map<std::string, Buffer> buffers;
  std::map<std::string, std::vector<uint8_t>> tensorMaps;
  LaunchConfig defaults;

  /// An error that is not at a place in the JSON text.
  bool fail(const std::string &message) {
    if (error.empty())
      error = message;
    return false;
  }
  std::string pathOf(const std::string &name) const;
  /// Whether every file that is written has one use: of those that the command
  /// line names, and of those that the launch file does, whatever else is wrong
  /// with it.
  bool checkFiles();
  bool checkFiles(const llvm::json::Value &root);
  /// A text that is there already is not loaded again: recorded launch files
  /// name their module themselves.
  bool loadModule(const std::string &path, bool isOfCommandLine);
  std::string adviceOnModules() const;
  std::string adviceOnLines() const;
  bool linkModules();
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
  bool findKernel(const JsonReader &json, Module *&module,
                  const KernelInfo *&kernel);
  bool oneLaunch(const JsonReader &json);
  bool memset(const JsonReader &json);
  bool copy(const JsonReader &json);
  /// With `write` false it only looks whether it could.
  bool writeOutput(const std::string &name, const JsonReader &json, bool write);
  bool setGlobals(const JsonReader &json);
};

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_LAUNCHFILE_LAUNCHFILEIMPL_H
