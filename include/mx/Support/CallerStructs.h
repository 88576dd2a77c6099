//===- CallerStructs.h - Structs of callers of any version ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A struct of a C interface begins with `size_t structSize`, which the caller
// sets to its sizeof. Later versions only append fields, so a caller that was
// built with an older header has the beginning of the struct and the library
// takes zeros for the rest. A caller with a newer header may leave its new
// fields at zero; one that sets them asks for what this library cannot do and
// is told so. (The rule is that of Linux' copy_struct_from_user.)
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_CALLERSTRUCTS_H
#define MX_SUPPORT_CALLERSTRUCTS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

/// Bytes of `type` from its beginning to the end of `field`.
#define MX_SIZE_WITH(type, field)                                              \
  (offsetof(type, field) + sizeof(((type *)nullptr)->field))

namespace mx {

/// What is wrong with the size of a caller's struct, "" if nothing is. `least`
/// is the size that the call cannot do without.
template <typename T>
std::string checkStruct(const T *given, size_t least, const char *name) {
  static_assert(std::is_trivially_copyable_v<T> &&
                std::is_standard_layout_v<T>);
  static_assert(offsetof(T, structSize) == 0);
  size_t size = given->structSize;
  // That of every version is a multiple: with another one a field would be cut.
  if (size >= least && size % alignof(T) == 0)
    return {};
  return std::string("expected structSize of ") + name + " to be " +
         (size < least ? "at least " + std::to_string(least)
                       : "a multiple of " + std::to_string(alignof(T))) +
         ", found " + std::to_string(size) + ": set it to sizeof(" + name + ")";
}

/// Copies a caller's struct to `result`, whose missing fields become zero.
/// Returns what is wrong with it, "" if nothing is.
template <typename T>
std::string readStruct(const T *given, size_t least, const char *name,
                       T &result) {
  if (std::string wrong = checkStruct(given, least, name); !wrong.empty())
    return wrong;
  size_t size = given->structSize;
  const char *bytes = reinterpret_cast<const char *>(given);
  // More than any version will have: a size that was never set.
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
                         : " with fields that this library does not know: "
                           "leave them zero, or use a newer library");
  result = T();
  memcpy(&result, bytes, std::min(size, sizeof(T)));
  result.structSize = sizeof(T);
  return {};
}

/// Writes as much of `answer` as the caller's struct has room for.
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

/// An array of a caller's structs. They are read in place where they are of
/// this version; their first field says how far the next one is away.
template <typename T>
class CallerArray {
public:
  CallerArray() = default;
  CallerArray(const T *first, int64_t count) : first(first), count(count) {}

  /// What is wrong with an element, "" if nothing is; `what` names one:
  /// "argument". Must hold before elements are read.
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
  /// Where not all are of this version.
  std::string checkOthers(size_t least, const char *name,
                          const char *what) const {
    for (int64_t i = 0; i < count; ++i) {
      const T *element = at(i);
      // A field that is no size is told first.
      T ignored;
      std::string wrong = readStruct(element, least, name, ignored);
      if (wrong.empty() && element->structSize != first->structSize)
        wrong = "expected one structSize in all elements, found " +
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
