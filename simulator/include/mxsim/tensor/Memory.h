//===- Memory.h - Memory interfaces of asynchronous engines -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The asynchronous engines (TMA, tcgen05) access memory through these
// interfaces, so they do not depend on the machine that owns the memory.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_MEMORY_H
#define MXSIM_TENSOR_MEMORY_H

#include <cstdint>

namespace mx::sim {

/// Observer of every shared memory access of an engine, for the initialization
/// and proxy checks. Offsets are CTA-relative.
class SharedObserver {
public:
  virtual ~SharedObserver() = default;
  virtual void read(uint32_t offset, uint32_t size) = 0;
  virtual void write(uint32_t offset, uint32_t size) = 0;
};

/// Shared memory of a CTA. Offset 0 is shared::cta address 0, because swizzle
/// patterns use absolute address bits.
struct SharedMemory {
  uint8_t *data = nullptr;
  uint32_t size = 0;
  SharedObserver *observer = nullptr;
  /// Copies check their operands but move no bytes.
  bool isLeftOut = false;

  bool contains(uint64_t offset, uint64_t bytes) const {
    return bytes <= size && offset <= size - bytes;
  }
};

/// Joins adjacent accesses of an engine before the observer sees them.
class JoinedAccess {
public:
  JoinedAccess(const SharedMemory &shared, bool isWrite)
      : observer(shared.observer), isWrite(isWrite) {}
  ~JoinedAccess() { flush(); }
  void add(uint32_t offset, uint32_t size) {
    if (!observer)
      return;
    if (offset + size == begin) {
      begin = offset;
    } else if (offset == end) {
      end += size;
    } else {
      flush();
      begin = offset;
      end = offset + size;
    }
  }

private:
  void flush() {
    if (begin != end)
      isWrite ? observer->write(begin, end - begin)
              : observer->read(begin, end - begin);
  }
  SharedObserver *observer;
  bool isWrite;
  uint32_t begin = 0, end = 0;
};

/// Global memory: translates device addresses to host memory.
class GlobalAccess {
public:
  virtual ~GlobalAccess() = default;
  /// Returns the host address of [address, address + size), or null unless the
  /// whole range is accessible. The pointer is only valid for immediate use.
  virtual uint8_t *translate(uint64_t address, uint64_t size, bool write) = 0;
};

} // namespace mx::sim

#endif // MXSIM_TENSOR_MEMORY_H
