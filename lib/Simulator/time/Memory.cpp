//===- Memory.cpp - L2 and HBM over time ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Memory.h"

using namespace mx::sim::time;

static constexpr double kMiB = 1 << 20;

Memory::Memory(const Chip &chip, unsigned multiprocessors, double mhz,
               std::shared_ptr<std::vector<Tags>> &l2)
    // Memory has a clock of its own, and L2 where its rate is in nanoseconds.
    : l2Rate(chip.has(Fact::L2BytesPerNs)
                 ? chip[Fact::L2BytesPerNs] * 1000 / mhz
                 : chip[Fact::L2Bytes]),
      hbmRate(chip[Fact::HbmBytesPerNs] * 1000 / mhz),
      fillLatency(chip.cycles(Fact::HbmLatency) - chip.cycles(Fact::L2Latency)),
      farLatency(chip.cycles(Fact::L2FarLatency)),
      ports(multiprocessors, Queue(chip[Fact::PortBytes])), output(l2Rate),
      channels(hbmRate) {
  auto ratio = [&](Fact fact) {
    return chip.has(fact) ? l2Rate / chip[fact] : 1;
  };
  writeWork = ratio(Fact::L2WriteBytes);
  lineWork = chip.has(Fact::L2WriteLines) ? ratio(Fact::L2WriteLines) : 0;
  loadWork = ratio(Fact::L2LoadBytes);
  if (chip.has(Fact::PortLoadBytes))
    portWork = chip[Fact::PortBytes] / chip[Fact::PortLoadBytes];
  window = chip.cycles(Fact::L2Window);
  if (window)
    recent.fill(std::vector<Asked>(kRecent));
  copyCost = chip[Fact::CopyHbmCost];
  if (!l2) {
    unsigned copies =
        chip.has(Fact::L2Parts) ? unsigned(chip[Fact::L2Parts]) : 1;
    uint64_t size = uint64_t(chip[Fact::L2Capacity] * kMiB) / copies;
    l2 = std::make_shared<std::vector<Tags>>(copies, Tags(size));
  }
  // The bytes of earlier launches are there.
  for (Tags &part : *l2)
    part.settle();
  tags = l2;
}

/// Two dies, or parts of one, have half of the SMs and of L2 each. Which lines
/// are where is not published: blocks of 4 KiB, spread like the lines over
/// sets.
unsigned Memory::homeOf(uint64_t line) {
  constexpr unsigned kBlockLines = 32;
  return Tags::mix(line / kBlockLines) >> 32 & 1;
}

/// Whether an SM of the same GPC has asked for the line a moment ago: both get
/// it at once.
bool Memory::isMerged(unsigned sm, uint64_t cycle, uint64_t line) {
  if (!window)
    return false;
  Asked &asked = recent[gpcOf(sm)][placeOf(line)];
  bool isSame = asked.line == line + 1 && cycle <= asked.cycle + window &&
                asked.cycle <= cycle + window;
  if (!isSame)
    asked = {line + 1, cycle};
  return isSame;
}

/// Each part of L2 keeps a copy of what its SMs read; what none has comes from
/// HBM. Whole sectors that are written need not be read first.
Memory::Found Memory::look(unsigned sm, uint64_t line, bool isWrite) {
  bool isOne = tags->size() == 1;
  unsigned home = !isOne && homeOf(line);
  unsigned own = isOne || isWrite ? home : halfOf(sm);
  Found found;
  found.answer = (*tags)[own].touch(line, isWrite);
  if (own != home && !found.answer.isHit) {
    Tags::Answer there = (*tags)[home].touch(line, false);
    found.writesBack = found.answer.writesBack;
    found.copy = found.answer.line;
    found.answer = there;
  }
  found.writesBack += found.answer.writesBack;
  return found;
}

/// What looking for the line needs is on its way to a cache of the host.
void Memory::prefetch(unsigned sm, uint64_t line) const {
  for (const Tags &part : *tags)
    part.prefetch(line);
  if (window)
    __builtin_prefetch(&recent[gpcOf(sm)][placeOf(line)], 1);
}

Memory::Times Memory::pass(unsigned sm, uint64_t cycle, const Path &path,
                           const std::vector<Piece> &pieces, Traffic traffic) {
  bool isWrite = traffic == Traffic::Store;
  Times times;
  missed.clear();
  double bytes = 0, fromHbm = 0, work = 0;
  constexpr size_t kAhead = 8; // lines that are fetched side by side
  for (size_t k = 0; k < pieces.size(); ++k) {
    const Piece &piece = pieces[k];
    if (k + kAhead < pieces.size())
      prefetch(sm, pieces[k + kAhead].line);
    bytes += piece.bytes;
    if (isWrite)
      work += std::max(piece.bytes * writeWork, lineWork);
    else if (!isMerged(sm, cycle, piece.line))
      work += piece.bytes * (traffic == Traffic::Load ? loadWork : 1);
    Found found = look(sm, piece.line, isWrite);
    ++lines;
    hits += found.answer.isHit;
    if (farLatency && homeOf(piece.line) != halfOf(sm))
      times.far = farLatency;
    if (found.writesBack)
      fromHbm += kLineBytes * found.writesBack;
    if (isWrite)
      continue;
    if (found.copy)
      missed.push_back(found.copy);
    uint64_t filled = found.answer.line->filled;
    if (!found.answer.isHit) {
      fromHbm += piece.bytes;
      missed.push_back(found.answer.line);
    } else if (filled + fillLatency > cycle) {
      times.underWay = std::max(times.underWay, filled);
    }
  }
  if (fromHbm > 0) {
    double cost = traffic == Traffic::Copy ? copyCost : 1;
    times.misses = channels.take(cycle, fromHbm * cost, path);
    times.missesPath = channels.path();
  }
  if (times.underWay)
    times.underWayPath = channels.path();
  for (Tags::Line *line : missed)
    line->filled = times.misses;
  uint64_t out = work > 0 ? output.take(cycle, work, path) : cycle;
  moved += bytes;
  double through = traffic == Traffic::Load ? bytes * portWork : bytes;
  times.hits = ports[sm].take(cycle, through, path);
  times.hitsSource = times.hits < out ? Source::L2 : Source::L2Port;
  times.hitsPath = times.hits < out ? output.path() : ports[sm].path();
  times.hits = std::max(times.hits, out);
  return times;
}
