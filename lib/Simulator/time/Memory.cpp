//===- Memory.cpp - L2 and HBM over time ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Memory.h"

using namespace mx::sim::time;

static constexpr double kMiB = 1 << 20;

Memory::Memory(const Chip &chip, unsigned multiprocessors, double mhz,
               std::shared_ptr<Tags> &l2)
    // Memory has a clock of its own, and L2 where its rate is in nanoseconds.
    : l2Rate(chip.has(Fact::L2BytesPerNs)
                 ? chip[Fact::L2BytesPerNs] * 1000 / mhz
                 : chip[Fact::L2Bytes]),
      hbmRate(chip[Fact::HbmBytesPerNs] * 1000 / mhz),
      farLatency(chip.cycles(Fact::L2FarLatency)),
      ports(multiprocessors, Queue(chip[Fact::PortBytes])), output(l2Rate),
      channels(hbmRate) {
  if (!l2)
    l2 = std::make_shared<Tags>(uint64_t(chip[Fact::L2Capacity] * kMiB));
  tags = l2;
}

/// Two dies have half of the SMs and of L2 each. Which lines are where is not
/// published: blocks of 4 KiB, spread like the lines over sets.
bool Memory::isFar(unsigned sm, uint64_t line) const {
  constexpr unsigned kBlockLines = 32;
  return (Tags::mix(line / kBlockLines) >> 32 & 1) != (2 * sm >= ports.size());
}

Memory::Times Memory::pass(unsigned sm, uint64_t cycle, const Path &path,
                           const std::vector<Piece> &pieces, bool isWrite,
                           double cost) {
  Times times;
  double bytes = 0, fromHbm = 0;
  for (const Piece &piece : pieces) {
    bytes += piece.bytes;
    Tags::Answer answer = tags->touch(piece.line, isWrite);
    ++lines;
    hits += answer.isHit;
    if (farLatency && isFar(sm, piece.line))
      times.far = farLatency;
    // Whole sectors that are written need not be read first.
    if (!answer.isHit && !isWrite)
      fromHbm += piece.bytes;
    if (answer.writesBack)
      fromHbm += kLineBytes;
  }
  if (fromHbm > 0) {
    times.misses = channels.take(cycle, fromHbm * cost, path);
    times.missesPath = channels.path();
  }
  uint64_t out = output.take(cycle, bytes, path);
  times.hits = ports[sm].take(cycle, bytes, path);
  times.hitsSource = times.hits < out ? Source::L2 : Source::L2Port;
  times.hitsPath = times.hits < out ? output.path() : ports[sm].path();
  times.hits = std::max(times.hits, out);
  return times;
}
