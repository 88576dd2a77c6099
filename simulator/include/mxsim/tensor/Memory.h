//===- Memory.h - how engines see shared and global memory ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The asynchronous engines (TMA, tcgen05) reach memory through these two
// small views, so they need nothing of the machine that owns the memory.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_MEMORY_H
#define MXSIM_TENSOR_MEMORY_H

#include <cstdint>

namespace mx::sim {

/// Told about every byte of shared memory that an engine touches, for the
/// checks of initialisation and proxies. Offsets are CTA-relative.
class SharedObserver {
public:
  virtual ~SharedObserver() = default;
  virtual void read(uint32_t offset, uint32_t size) = 0;
  virtual void write(uint32_t offset, uint32_t size) = 0;
};

/// The shared memory of one CTA: offset 0 is shared::cta address 0, so that
/// swizzle patterns, which use absolute address bits, come out right.
struct SharedMemory {
  uint8_t *data = nullptr;
  uint32_t size = 0;
  SharedObserver *observer = nullptr;
  /// The bytes are not used: copies check their operands, and move nothing.
  bool isLeftOut = false;

  bool contains(uint64_t offset, uint64_t bytes) const {
    return bytes <= size && offset <= size - bytes;
  }
};

/// Global memory: translates device addresses to host memory.
class GlobalAccess {
public:
  virtual ~GlobalAccess() = default;
  /// The host address of [address, address + size), or null when any part of
  /// the range is no accessible memory. The answer is used at once.
  virtual uint8_t *translate(uint64_t address, uint64_t size, bool write) = 0;
};

} // namespace mx::sim

#endif // MXSIM_TENSOR_MEMORY_H
