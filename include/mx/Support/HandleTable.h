//===- HandleTable.h - Handles of C interfaces ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handle encodes a kind, an index in a table and a serial number. Each reuse
// of an index increments the serial number, so stale handles are always
// detected. Foreign values are almost always detected. Lookups return shared
// ownership, so a destroyed object lives until concurrent calls on it end.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_HANDLETABLE_H
#define MX_SUPPORT_HANDLETABLE_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <vector>

namespace mx {

enum class HandleKind : uint8_t {
  Module = 1,
  Function,
  Program,
  Entry,
  CompilerContext,
  CompilerModule,
  CompiledProgram,
  HostProgram,
  Group,
};

/// Returns the mutex of all tables. fork() also takes the mutex, so that
/// children never find it locked.
inline std::mutex &getHandleMutex() {
  static std::mutex mutex;
  auto unlock = [] { mutex.unlock(); };
  [[maybe_unused]] static const int error =
      pthread_atfork([] { mutex.lock(); }, unlock, unlock);
  return mutex;
}

/// `Handle`, a pointer type of the C interface, is never dereferenced.
template <typename Handle, typename Object>
class HandleTable {
public:
  explicit HandleTable(HandleKind kind) : kind(kind) {}

  /// Adds an object and returns its handle.
  Handle add(std::shared_ptr<Object> object) {
    std::lock_guard<std::mutex> lock(getHandleMutex());
    if (unused.empty()) {
      // Reserve space first, so remove() never allocates.
      unused.reserve(places.size() + 1);
      places.emplace_back();
      unused.push_back(uint32_t(places.size() - 1));
    }
    uint32_t place = unused.back();
    unused.pop_back();
    places[place].object = std::move(object);
    return toHandle(place, places[place].serial);
  }

  /// Returns the object, or null if the handle is stale or of another kind.
  std::shared_ptr<Object> find(Handle handle) const {
    std::lock_guard<std::mutex> lock(getHandleMutex());
    const Place *place = findPlace(handle);
    return place ? place->object : nullptr;
  }

  /// Removes and returns the object, or null as in find().
  std::shared_ptr<Object> remove(Handle handle) {
    std::lock_guard<std::mutex> lock(getHandleMutex());
    auto *place = const_cast<Place *>(findPlace(handle));
    if (!place)
      return nullptr;
    // An index is retired when its serial numbers are used up.
    if (++place->serial < kSerials)
      unused.push_back(uint32_t(place - places.data()));
    return std::move(place->object);
  }

private:
  struct Place {
    std::shared_ptr<Object> object;
    uint64_t serial = 1;
  };

  // The top byte is set and even. No address of a process has this form, so
  // dereferencing a handle faults immediately.
  static constexpr unsigned kSerialBits = 32, kPlaceBits = 24;
  static constexpr uint64_t kSerials = 1ull << kSerialBits;
  static_assert(sizeof(Handle) == 8, "handles have 64 bits");

  uint64_t getTop() const { return 0x80u | uint64_t(kind) << 1; }
  Handle toHandle(uint64_t place, uint64_t serial) const {
    return reinterpret_cast<Handle>(getTop() << (kSerialBits + kPlaceBits) |
                                    place << kSerialBits | serial);
  }
  const Place *findPlace(Handle handle) const {
    auto number = reinterpret_cast<uint64_t>(handle);
    uint64_t place = number >> kSerialBits & ((1u << kPlaceBits) - 1);
    if (number >> (kSerialBits + kPlaceBits) != getTop() ||
        place >= places.size() || !places[place].object ||
        places[place].serial != (number & (kSerials - 1)))
      return nullptr;
    return &places[place];
  }

  const HandleKind kind;
  std::vector<Place> places;
  std::vector<uint32_t> unused;
};

} // namespace mx

#endif // MX_SUPPORT_HANDLETABLE_H
