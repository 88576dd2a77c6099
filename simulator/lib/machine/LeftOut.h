//===- LeftOut.h - Set of bytes with uncomputed values ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_LEFTOUT_H
#define MXSIM_LIB_MACHINE_LEFTOUT_H

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace mx::sim::time {

/// Thread-safe set of the bytes of a memory that were left out of a simulation
/// and contain no computed values.
class LeftOut {
public:
  /// Creates an empty set; `bytes` is the approximate size of the memory.
  explicit LeftOut(uint64_t bytes) : lists(bytes / kPage + 1) {}
  ~LeftOut() {
    for (std::atomic<Page *> &list : lists)
      for (Page *page = list; page;)
        delete std::exchange(page, page->next);
  }
  LeftOut(const LeftOut &) = delete;
  LeftOut &operator=(const LeftOut &) = delete;

  void mark(uint64_t address, uint64_t bytes) {
    forWords(address, bytes, /*creates=*/true, [](Word &word, uint64_t bits) {
      return word.fetch_or(bits, std::memory_order_relaxed), false;
    });
  }
  void clear(uint64_t address, uint64_t bytes) {
    forWords(address, bytes, /*creates=*/false, [](Word &word, uint64_t bits) {
      if (word.load(std::memory_order_relaxed) & bits)
        word.fetch_and(~bits, std::memory_order_relaxed);
      return false;
    });
  }
  /// Returns true if the set contains any byte of the range.
  bool meets(uint64_t address, uint64_t bytes) {
    return forWords(address, bytes, /*creates=*/false,
                    [](Word &word, uint64_t bits) {
                      return word.load(std::memory_order_relaxed) & bits;
                    });
  }

private:
  static constexpr uint64_t kPage = 1u << 16;
  using Word = std::atomic<uint64_t>;
  /// Page of the set. Pages are never removed from their list.
  struct Page {
    explicit Page(uint64_t number) : number(number), words() {}
    const uint64_t number;
    Page *next = nullptr;
    std::array<Word, kPage / 64> words;
  };

  Page *find(uint64_t number, bool creates) {
    std::atomic<Page *> &list = lists[number % lists.size()];
    Page *first = list.load(std::memory_order_acquire), *made = nullptr;
    for (;;) {
      for (Page *page = first; page; page = page->next)
        if (page->number == number) {
          delete made;
          return page;
        }
      if (!creates)
        return nullptr;
      if (!made)
        made = new Page(number);
      made->next = first;
      if (list.compare_exchange_weak(first, made))
        return made;
    }
  }

  /// Calls f(word, bits in the range) until it returns true.
  template <class F>
  bool forWords(uint64_t address, uint64_t bytes, bool creates, F &&f) {
    for (uint64_t end = address + bytes; address < end;) {
      uint64_t pageEnd = std::min(end, (address / kPage + 1) * kPage);
      Page *page = find(address / kPage, creates);
      while (page && address < pageEnd) {
        uint64_t stop = std::min(pageEnd, (address / 64 + 1) * 64);
        uint64_t bits = ~0ull >> (64 - (stop - address)) << address % 64;
        if (f(page->words[address % kPage / 64], bits))
          return true;
        address = stop;
      }
      address = pageEnd;
    }
    return false;
  }

  std::vector<std::atomic<Page *>> lists;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_MACHINE_LEFTOUT_H
