//===- LaunchRecord.h - Launches recorded as replayable files ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns a launch of a host program into a directory that mx-sim can run: a
// launch file, the PTX, and the initial contents of each buffer. See
// docs/reference/Runtime.md.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LAUNCHRECORD_H
#define MXSIM_LAUNCHRECORD_H

#include "mxsim/Simulator.h"
#include "mxsim/tensor/TensorMap.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mx {
class JsonWriter;
} // namespace mx

namespace mx::sim {

/// Buffers are the allocations that parameters or their tensor maps point to.
/// Pointers stored in buffers are not followed.
class LaunchRecord {
public:
  /// Copies the buffers. Call before the launch.
  LaunchRecord(const DeviceMemory &memory, const KernelInfo &kernel,
               const LaunchConfig &config);

  /// Creates the directory, with every changed buffer as an output. Call after
  /// the launch. Returns an error message or an empty string.
  std::string write(const std::string &directory, std::string_view ptx) const;

private:
  /// Part of a parameter: a pointer into a buffer, a tensor map, or plain
  /// bytes.
  struct Field {
    uint32_t offset, bytes;
    std::string buffer, tensorMap; ///< both empty: plain bytes
    uint64_t bufferOffset;
  };
  struct Argument {
    const ParameterInfo *parameter;
    std::vector<Field> fields;
  };
  struct Buffer {
    std::string name;
    std::vector<uint8_t> before;
  };

  const Buffer *addBuffer(uint64_t address, uint64_t &offset);
  Field readField(const ParameterInfo &parameter, uint32_t offset,
                  const std::string &place);
  const uint8_t *bytesOf(const Argument &argument, const Field &field) const;
  std::string text() const;
  void writeTensorMap(JsonWriter &json, const TensorMapDesc &map) const;
  void writeArgument(JsonWriter &json, const Argument &argument) const;
  void writeField(JsonWriter &json, const Argument &argument,
                  const Field &field, const char *offsetKey) const;
  bool hasChanged(uint64_t address, const Buffer &buffer) const;

  const DeviceMemory &memory;
  const LaunchConfig config;
  std::vector<Argument> arguments;
  std::map<uint64_t, Buffer> buffers; ///< keyed by address
  std::map<std::string, TensorMapDesc> tensorMaps;
};

} // namespace mx::sim

#endif // MXSIM_LAUNCHRECORD_H
