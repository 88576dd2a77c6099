//===- LeftOut.h - bytes whose values were left out -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_TIME_LEFTOUT_H
#define MX_LIB_SIMULATOR_TIME_LEFTOUT_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace mx::sim::time {

/// A set of bytes of a memory.
class LeftOut {
public:
  void mark(uint64_t address, uint64_t bytes) {
    forWords(address, bytes, /*creates=*/true,
             [](uint64_t &word, uint64_t bits) { return word |= bits, false; });
  }
  void clear(uint64_t address, uint64_t bytes) {
    if (!pages.empty())
      forWords(
          address, bytes, /*creates=*/false,
          [](uint64_t &word, uint64_t bits) { return word &= ~bits, false; });
  }
  /// Whether one of the bytes is in the set.
  bool meets(uint64_t address, uint64_t bytes) {
    return !pages.empty() &&
           forWords(address, bytes, /*creates=*/false,
                    [](uint64_t &word, uint64_t bits) { return word & bits; });
  }

private:
  static constexpr uint64_t kPage = 1u << 16;
  using Page = std::array<uint64_t, kPage / 64>;

  Page *find(uint64_t number, bool creates) {
    if (last && number == lastNumber)
      return last;
    auto it = pages.find(number);
    if (it == pages.end() && !creates)
      return nullptr;
    if (it == pages.end())
      it = pages.emplace(number, std::make_unique<Page>()).first;
    lastNumber = number;
    return last = it->second.get();
  }

  /// Calls f(word, its bits in the range) until it says true.
  template <class F>
  bool forWords(uint64_t address, uint64_t bytes, bool creates, F &&f) {
    for (uint64_t end = address + bytes; address < end;) {
      Page *page = find(address / kPage, creates);
      if (!page) {
        address = (address / kPage + 1) * kPage;
        continue;
      }
      uint64_t stop = std::min(end, (address / 64 + 1) * 64);
      uint64_t bits = ~0ull >> (64 - (stop - address)) << address % 64;
      if (f((*page)[address % kPage / 64], bits))
        return true;
      address = stop;
    }
    return false;
  }

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  Page *last = nullptr;
  uint64_t lastNumber = 0;
};

} // namespace mx::sim::time

#endif // MX_LIB_SIMULATOR_TIME_LEFTOUT_H
