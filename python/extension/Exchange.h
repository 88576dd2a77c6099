//===- Exchange.h - DLPack's exchange interface -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structs of DLPack 1.3, in the layout fixed for major version 1. An array type
// stores the address of a function table in the capsule
// __dlpack_c_exchange_api__, so PyTorch's headers are not needed.
//===----------------------------------------------------------------------===//

#ifndef MX_PYTHON_EXTENSION_EXCHANGE_H
#define MX_PYTHON_EXTENSION_EXCHANGE_H

#include <cstdint>

namespace mx::dlpack {

constexpr const char *kCapsuleName = "dlpack_exchange_api";
constexpr uint32_t kMajorVersion = 1;
constexpr int32_t kCUDA = 2; // value of Device::type

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

/// Description of an array. The array's owner keeps `shape` and `strides`
/// alive. Strides count elements.
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
  ExchangeHeader *previous; // older major version, or null
};

/// Function table. Each function returns 0, or -1 with a Python exception.
/// Unused functions are declared as addresses.
struct ExchangeTable {
  ExchangeHeader header;
  void *allocate, *fromObject, *toObject;
  /// Describes an array without taking ownership. The pointer may be null.
  int (*describe)(void *object, Tensor *out);
  int (*currentStream)(int32_t deviceType, int32_t deviceId, void **stream);
};

} // namespace mx::dlpack

#endif // MX_PYTHON_EXTENSION_EXCHANGE_H
