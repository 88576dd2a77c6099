//===- LargePages.cpp - memory in large pages of the host -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LargePages.h"

#include <cstdlib>
#include <cstring>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

using namespace mx::sim;

static constexpr size_t kLine = 64, kPage = 2u << 20;

static size_t roundUp(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

struct LargePages::Pool {
  explicit Pool(size_t bytes) : bytes(roundUp(bytes ? bytes : 1, kLine)) {}
  ~Pool() {
    for (char *chunk : chunks)
      std::free(chunk);
  }
  void grow();

  const size_t bytes;
  std::mutex mutex;
  std::vector<char *> chunks, unused;
};

/// One chunk for several blocks: less is left over of its last page.
void LargePages::Pool::grow() {
  constexpr size_t kBlocks = 16;
  bool isLarge = bytes * kBlocks >= kPage;
  size_t page = isLarge ? kPage : kLine, all = roundUp(bytes * kBlocks, page);
  char *chunk = static_cast<char *>(std::aligned_alloc(page, all));
  if (!chunk)
    throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (isLarge)
    madvise(chunk, all, MADV_HUGEPAGE);
#endif
  chunks.push_back(chunk);
  for (size_t k = all / bytes; k--;)
    unused.push_back(chunk + k * bytes);
}

LargePages::LargePages(size_t blockBytes)
    : pool(std::make_shared<Pool>(blockBytes)) {}

std::shared_ptr<char> LargePages::take() {
  std::lock_guard<std::mutex> lock(pool->mutex);
  if (pool->unused.empty())
    pool->grow();
  char *block = pool->unused.back();
  pool->unused.pop_back();
  std::memset(block, 0, pool->bytes);
  return {block, [pool = pool](char *block) {
            std::lock_guard<std::mutex> lock(pool->mutex);
            pool->unused.push_back(block);
          }};
}
