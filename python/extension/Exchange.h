//===- Exchange.h - DLPack's interface of a type of arrays ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The structs of DLPack 1.3 that this extension reads, in the layout that its
// major version 1 promises. A type of arrays has the address of a table of
// functions in a capsule, its attribute __dlpack_c_exchange_api__; so nothing
// is compiled against PyTorch's headers.
//===----------------------------------------------------------------------===//

#ifndef MX_PYTHON_EXTENSION_EXCHANGE_H
#define MX_PYTHON_EXTENSION_EXCHANGE_H

#include <cstdint>

namespace mx::dlpack {

constexpr const char *kCapsuleName = "dlpack_exchange_api";
constexpr uint32_t kMajorVersion = 1;
constexpr int32_t kCUDA = 2; // of Device::type

struct Version {
  uint32_t major, minor;
};

struct Device {
  int32_t type, id;
};

struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};

/// An array, whose owner keeps shape and strides, which count elements.
struct Tensor {
  void *data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t *shape, *strides;
  uint64_t byteOffset;
};

struct ExchangeHeader {
  Version version;
  ExchangeHeader *previous; // of an older major version, or null
};

/// Functions return 0, or -1 with an exception of Python set. Those that are
/// not called here are addresses.
struct ExchangeTable {
  ExchangeHeader header;
  void *allocate, *fromObject, *toObject;
  /// Describes an array without owning it; may be null.
  int (*describe)(void *object, Tensor *out);
  int (*currentStream)(int32_t deviceType, int32_t deviceId, void **stream);
};

} // namespace mx::dlpack

#endif // MX_PYTHON_EXTENSION_EXCHANGE_H
