//===- CallerStructs.h - Versioned structs of C callers ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A struct of a C interface begins with `size_t structSize`. The caller sets it
// to sizeof the struct. Later versions only append fields. For a caller with an
// older header, the library assumes zeros for the missing fields. A call fails
// if a caller with a newer header sets fields unknown to the library.
// copy_struct_from_user in Linux follows the same rule.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_CALLERSTRUCTS_H
#define MX_SUPPORT_CALLERSTRUCTS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

/// Bytes of `type` from its start to the end of `field`.
#define MX_SIZE_WITH(type, field)                                              \
  (offsetof(type, field) + sizeof(((type *)nullptr)->field))

namespace mx {

/// Returns an error message if the size of a caller's struct is invalid, else
/// "". `least` is the smallest size that the call accepts.
template <typename T>
std::string checkStruct(const T *given, size_t least, const char *name) {
  static_assert(std::is_trivially_copyable_v<T> &&
                std::is_standard_layout_v<T>);
  static_assert(offsetof(T, structSize) == 0);
  size_t size = given->structSize;
  // The sizes of all versions are multiples of the alignment.
  if (size >= least && size % alignof(T) == 0)
    return {};
  return std::string("expected structSize of ") + name + " to be " +
         (size < least ? "at least " + std::to_string(least)
                       : "a multiple of " + std::to_string(alignof(T))) +
         ", found " + std::to_string(size) + ": set it to sizeof(" + name + ")";
}

/// Copies a caller's struct and zeroes missing fields. Returns an error or "".
template <typename T>
std::string readStruct(const T *given, size_t least, const char *name,
                       T &result) {
  if (std::string wrong = checkStruct(given, least, name); !wrong.empty())
    return wrong;
  size_t size = given->structSize;
  const char *bytes = reinterpret_cast<const char *>(given);
  // No future version is larger, so the caller did not set the size.
  constexpr size_t kMost = 1 << 16;
  bool isForeign = size > kMost;
  if (!isForeign && size > sizeof(T))
    isForeign = std::any_of(bytes + sizeof(T), bytes + size,
                            [](char byte) { return byte != 0; });
  if (isForeign)
    return std::string("expected ") + name + " of at most " +
           std::to_string(sizeof(T)) + " bytes, found structSize " +
           std::to_string(size) +
           (size > kMost ? ": set it to sizeof(" + std::string(name) + ")"
                         : " with fields that this library does not support: "
                           "leave them zero, or use a newer library");
  result = T();
  memcpy(&result, bytes, std::min(size, sizeof(T)));
  result.structSize = sizeof(T);
  return {};
}

/// Writes the prefix of `answer` that fits in the caller's struct.
template <typename T>
std::string writeStruct(T *result, const char *name, const T &answer) {
  size_t size = result->structSize;
  if (std::string wrong = checkStruct(result, 2 * sizeof(size_t), name);
      !wrong.empty())
    return wrong;
  memcpy(result, &answer, std::min(size, sizeof(T)));
  result->structSize = size;
  return {};
}

/// Array of a caller's structs. Structs of the current version are read in
/// place. The size of the first element is the stride.
template <typename T>
class CallerArray {
public:
  CallerArray() = default;
  CallerArray(const T *first, int64_t count) : first(first), count(count) {}

  /// Returns an error message if an element is invalid, else "". `what` is a
  /// noun for messages: "argument". Call this before reading elements.
  std::string check(size_t least, const char *name, const char *what) const {
    int64_t i = 0;
    while (i < count && first[i].structSize == sizeof(T))
      ++i;
    return i == count ? std::string() : checkOthers(least, name, what);
  }

  T operator[](int64_t i) const {
    const T *element = at(i);
    if (element->structSize == sizeof(T))
      return *element;
    T result = T();
    memcpy(&result, element, std::min(element->structSize, sizeof(T)));
    return result;
  }

private:
  /// Checks an array with elements of other versions.
  std::string checkOthers(size_t least, const char *name,
                          const char *what) const {
    for (int64_t i = 0; i < count; ++i) {
      const T *element = at(i);
      // Report fields with invalid values first.
      T ignored;
      std::string wrong = readStruct(element, least, name, ignored);
      if (wrong.empty() && element->structSize != first->structSize)
        wrong = "expected the same structSize in all elements, found " +
                std::to_string(first->structSize) + " and " +
                std::to_string(element->structSize);
      if (!wrong.empty())
        return what + (" " + std::to_string(i)) + ": " + wrong;
    }
    return {};
  }

  const T *at(int64_t i) const {
    return reinterpret_cast<const T *>(reinterpret_cast<const char *>(first) +
                                       size_t(i) * first->structSize);
  }

  const T *first = nullptr;
  int64_t count = 0;
};

} // namespace mx

#endif // MX_SUPPORT_CALLERSTRUCTS_H
