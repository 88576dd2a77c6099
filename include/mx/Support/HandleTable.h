//===- HandleTable.h - Objects of a C interface by number -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handle of a C interface is a number: a kind, a place in a table, and the
// serial of the object that the place holds. The place of a destroyed object is
// used again under the next serial, so a dead handle is told from a live one
// for as long as the process lives, and a foreign one almost always.
//
// A lookup returns shared ownership: an object that one thread destroys stays
// until the calls of other threads that found it have ended.
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

/// Returns the mutex of all tables. fork() takes it too, so that no child finds
/// it locked.
inline std::mutex &getHandleMutex() {
  static std::mutex mutex;
  auto unlock = [] { mutex.unlock(); };
  [[maybe_unused]] static const int error =
      pthread_atfork([] { mutex.lock(); }, unlock, unlock);
  return mutex;
}

/// `Handle` is the pointer type of the C interface; it is never dereferenced.
template <typename Handle, typename Object>
class HandleTable {
public:
  explicit HandleTable(HandleKind kind) : kind(kind) {}

  /// The handle of an object that is new to the table.
  Handle add(std::shared_ptr<Object> object) {
    std::lock_guard<std::mutex> lock(getHandleMutex());
    if (unused.empty()) {
      // Room first, so that remove() can always note the place.
      unused.reserve(places.size() + 1);
      places.emplace_back();
      unused.push_back(uint32_t(places.size() - 1));
    }
    uint32_t place = unused.back();
    unused.pop_back();
    places[place].object = std::move(object);
    return toHandle(place, places[place].serial);
  }

  /// The object; null where the handle is dead or of something else.
  std::shared_ptr<Object> find(Handle handle) const {
    std::lock_guard<std::mutex> lock(getHandleMutex());
    const Place *place = findPlace(handle);
    return place ? place->object : nullptr;
  }

  /// The object, which the table no longer holds; null as find().
  std::shared_ptr<Object> remove(Handle handle) {
    std::lock_guard<std::mutex> lock(getHandleMutex());
    auto *place = const_cast<Place *>(findPlace(handle));
    if (!place)
      return nullptr;
    // A place whose serials are spent is never used again.
    if (++place->serial < kSerials)
      unused.push_back(uint32_t(place - places.data()));
    return std::move(place->object);
  }

private:
  struct Place {
    std::shared_ptr<Object> object;
    uint64_t serial = 1;
  };

  // The top byte is set and even: no address of a process looks like this, and
  // a caller that follows the handle faults at once.
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
