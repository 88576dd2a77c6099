//===- DeviceMemory.cpp - Global memory of the simulated device -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each allocation occupies whole pages followed by an unmapped page, so an
// access check is a table lookup and a comparison.
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "LeftOut.h"
#include "Overlap.h"

#include "mxsim/Simulator.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <unistd.h>

using namespace mx::sim;

struct DeviceMemory::Block {
  Allocation info;
  uint8_t *host = nullptr;
  bool live = true;
  bool owned = true; ///< false for mapped host memory
  bool isWindow = false;
  ~Block() {
    if (owned)
      std::free(host);
  }
};

uint64_t DeviceMemory::defaultCapacity() {
  uint64_t host = uint64_t(std::max(sysconf(_SC_PHYS_PAGES), 1l)) *
                  uint64_t(std::max(sysconf(_SC_PAGESIZE), 1l));
  // The memory limit of a container may be lower (cgroups v2 and v1).
  for (const char *file : {"/sys/fs/cgroup/memory.max",
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    uint64_t limit;
    if (std::ifstream(file) >> limit)
      host = std::min(host, limit);
  }
  return std::min<uint64_t>(64ull << 30, host / 4 * 3);
}

DeviceMemory::DeviceMemory(uint64_t capacity, unsigned device)
    : capacity(capacity), base(kBase + device * kBytes), next(base),
      overlapping(std::make_unique<Overlap>(base)) {}
DeviceMemory::~DeviceMemory() = default;

void DeviceMemory::settle() { overlapping->settle(); }

void DeviceMemory::beginLaunch(bool isProgrammatic) {
  overlapping->begin(isProgrammatic, pages.size());
}

static void poison(uint8_t *at, uint64_t bytes) {
  const uint8_t pattern[2] = {DeviceMemory::kPoison & 0xFF,
                              DeviceMemory::kPoison >> 8};
  uint64_t n = std::min<uint64_t>(bytes, 4096);
  for (uint64_t i = 0; i < n; ++i)
    at[i] = pattern[i & 1];
  for (uint64_t done = n; done < bytes; done += n)
    std::memcpy(at + done, at, std::min(n, bytes - done));
}

uint64_t DeviceMemory::alloc(uint64_t bytes, uint64_t align,
                             std::string_view name) {
  if (bytes > capacity || inUse > capacity - bytes ||
      (align & (align - 1)) != 0 || align > (1ull << 32))
    return 0;
  align = std::max(align, kPageBytes);
  uint64_t address = (next + align - 1) & ~(align - 1);
  uint64_t pagesNeeded = bytes / kPageBytes + 1;
  uint64_t end = address + pagesNeeded * kPageBytes;
  if (end - base > kBytes)
    return 0;
  auto block = std::make_unique<Block>();
  block->info = {address, bytes, std::string(name)};
  block->host = static_cast<uint8_t *>(std::malloc(bytes ? bytes : 1));
  if (!block->host)
    return 0;
  // Resizing may run out of memory, so resize before changing any other state.
  pages.resize((end - base) / kPageBytes, 0);
  poison(block->host, bytes);
  blocks.push_back(std::move(block));
  for (uint64_t p = 0; p < pagesNeeded; ++p)
    pages[(address - base) / kPageBytes + p] = blocks.size();
  // Leave a page unmapped between allocations.
  next = end + kPageBytes;
  inUse += bytes;
  return address;
}

void DeviceMemory::connect(const std::vector<DeviceMemory *> &devices) {
  std::vector<DeviceMemory *> byNumber(kMostDevices);
  for (DeviceMemory *d : devices)
    byNumber[d->device()] = d;
  for (DeviceMemory *d : devices)
    d->peers = byNumber;
}

bool DeviceMemory::share(uint64_t address) {
  Block *b = lookupOwn(address);
  if (!b || !b->live || !b->owned || b->info.address != address)
    return false;
  b->isWindow = true;
  return true;
}

const DeviceMemory *DeviceMemory::peerOf(uint64_t address) const {
  return isOfPeer(address) ? peers[(address - kBase) / kBytes] : nullptr;
}

DeviceMemory::Block *DeviceMemory::lookup(uint64_t address) const {
  Block *own = lookupOwn(address);
  if (own || peers.empty())
    return own;
  const DeviceMemory *peer = peerOf(address);
  Block *b = peer ? peer->lookupOwn(address) : nullptr;
  return b && b->isWindow ? b : nullptr;
}

DeviceMemory::Block *DeviceMemory::lookupOwn(uint64_t address) const {
  uint64_t page = (address - base) / kPageBytes;
  if (address >= base && page < pages.size() && pages[page])
    return blocks[pages[page] - 1].get();
  if (mapped.empty())
    return nullptr;
  auto after = mapped.upper_bound(address);
  return after == mapped.begin() ? nullptr : std::prev(after)->second.get();
}

bool DeviceMemory::mapHost(void *host, uint64_t bytes, std::string_view name) {
  uint64_t begin = reinterpret_cast<uint64_t>(host), end = begin + bytes;
  auto meets = [&](uint64_t base, uint64_t size) {
    return begin < base + size && base < end;
  };
  if (!host || end < begin || meets(kBase, kMostDevices * kBytes))
    return false;
  // Skip the ranges of generic addresses that are reserved for state spaces.
  for (uint64_t window : {kSharedWindow, kLocalWindow, kParamWindow})
    if (meets(window, kWindowBytes))
      return false;
  auto after = mapped.upper_bound(begin);
  if (after != mapped.end() && after->first < end)
    return false;
  if (after != mapped.begin()) {
    const Allocation &before = std::prev(after)->second->info;
    if (before.address == begin || before.address + before.bytes > begin)
      return false;
  }
  auto block = std::make_unique<Block>();
  block->info = {begin, bytes, std::string(name)};
  block->host = static_cast<uint8_t *>(host);
  block->owned = false;
  mapped.emplace(begin, std::move(block));
  return true;
}

bool DeviceMemory::unmapHost(void *host) {
  return mapped.erase(reinterpret_cast<uint64_t>(host)) == 1;
}

bool DeviceMemory::free(uint64_t address) {
  Block *b = lookupOwn(address);
  if (!b || !b->live || !b->owned || b->info.address != address)
    return false;
  inUse -= b->info.bytes;
  b->live = false;
  std::free(b->host);
  b->host = nullptr;
  return true;
}

void *DeviceMemory::translate(uint64_t address, uint64_t bytes) const {
  Block *b = lookup(address);
  if (!b || !b->live)
    return nullptr;
  uint64_t offset = address - b->info.address;
  if (offset > b->info.bytes || bytes > b->info.bytes - offset)
    return nullptr;
  return b->host + offset;
}

void DeviceMemory::define(uint64_t address, uint64_t bytes) {
  if (leftOut)
    leftOut->clear(address, bytes);
}

bool DeviceMemory::copyIn(uint64_t address, const void *from, uint64_t bytes) {
  void *p = translate(address, bytes);
  if (p && bytes)
    std::memcpy(p, from, bytes);
  define(address, bytes);
  return p != nullptr;
}

bool DeviceMemory::copyOut(void *to, uint64_t address, uint64_t bytes) const {
  void *p = translate(address, bytes);
  if (p && bytes)
    std::memcpy(to, p, bytes);
  return p != nullptr;
}

bool DeviceMemory::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  void *t = translate(to, bytes), *f = translate(from, bytes);
  if (!t || !f)
    return false;
  std::memmove(t, f, bytes);
  if (leftOut && leftOut->meets(from, bytes))
    leftOut->mark(to, bytes);
  else
    define(to, bytes);
  return true;
}

bool DeviceMemory::fill(uint64_t address, uint8_t byte, uint64_t bytes) {
  void *p = translate(address, bytes);
  if (p && bytes)
    std::memset(p, byte, bytes);
  define(address, bytes);
  return p != nullptr;
}

bool DeviceMemory::fillPoison(uint64_t address, uint64_t bytes) {
  void *p = translate(address, bytes);
  if (p)
    poison(static_cast<uint8_t *>(p), bytes);
  return p != nullptr;
}

const DeviceMemory::Allocation *DeviceMemory::find(uint64_t address) const {
  Block *b = lookup(address);
  if (!b || !b->live || address - b->info.address >= b->info.bytes)
    return nullptr;
  return &b->info;
}

std::string DeviceMemory::describe(uint64_t address, uint64_t bytes) const {
  char text[64];
  std::snprintf(text, sizeof text, "%llu byte%s at global address 0x%llx",
                (unsigned long long)bytes, bytes == 1 ? "" : "s",
                (unsigned long long)address);
  std::string s = text;
  if (const DeviceMemory *peer = peerOf(address)) {
    s = peer->describe(address, bytes);
    Block *b = peer->lookupOwn(address);
    return b && b->live && !b->isWindow
               ? s + ", which is not a window: other devices may not use it"
               : s;
  }
  if (uint64_t device = (address - kBase) / kBytes;
      address >= kBase && device < kMostDevices &&
      device != (base - kBase) / kBytes)
    return s + ", in the memory of simulated device " + std::to_string(device) +
           " rather than " + std::to_string((base - kBase) / kBytes);
  std::string owner =
      peers.empty() ? "" : " on device " + std::to_string(device());
  // Find the nearest allocation within reach of a plausible indexing error.
  const Block *best = nullptr;
  uint64_t bestDistance = ~0ull;
  auto consider = [&](const std::unique_ptr<Block> &b) {
    uint64_t begin = b->info.address, end = begin + b->info.bytes;
    uint64_t distance = address < begin  ? begin - address
                        : address >= end ? address - end
                                         : 0;
    if (distance < bestDistance) {
      best = b.get();
      bestDistance = distance;
    }
  };
  for (const auto &b : blocks)
    consider(b);
  for (const auto &entry : mapped)
    consider(entry.second);
  if (address < 4096)
    return s + ", at offset " + std::to_string(address) + " of a null pointer";
  if (bestDistance > 1 << 30)
    return s + ", which is not an address of device memory";
  std::string name = best->info.name.empty()
                         ? "an unnamed buffer"
                         : "buffer '" + best->info.name + "'";
  std::string size = std::to_string(best->info.bytes) + " bytes" + owner;
  uint64_t begin = best->info.address, end = begin + best->info.bytes;
  if (!best->live && address >= begin && address < end)
    return s + ", in " + name + " that has been freed";
  if (address >= begin && address < end)
    return s + ", offset " + std::to_string(address - begin) + " of " + name +
           " of " + size;
  if (address >= end)
    return s + ", " + std::to_string(bestDistance) + " bytes past the end of " +
           name + " of " + size;
  return s + ", " + std::to_string(bestDistance) + " bytes before " + name +
         " of " + size;
}
