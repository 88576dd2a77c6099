//===- Memory.cpp - Timing of L2 and HBM ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Memory.h"

using namespace mx::sim::time;

static constexpr double kMiB = 1 << 20;

static unsigned parts(const Chip &chip) {
  return chip.has(Fact::L2Parts) ? unsigned(chip[Fact::L2Parts]) : 1;
}

Memory::Memory(const Chip &chip, Placement place, double mhz,
               std::shared_ptr<std::vector<Tags>> &l2)
    // HBM has its own clock. L2 has one if its rate is per nanosecond.
    : l2Rate(chip.has(Fact::L2BytesPerNs)
                 ? chip[Fact::L2BytesPerNs] * 1000 / mhz
                 : chip[Fact::L2Bytes]),
      hbmRate(chip[Fact::HbmBytesPerNs] * 1000 / mhz),
      placement(std::move(place)),
      fillLatency(chip.cyclesBeyond(Fact::HbmLatency, Fact::L2Latency)),
      farLatency(chip.cycles(Fact::L2FarLatency)),
      ports(placement.sms(), Queue(chip[Fact::PortBytes])),
      outputs(parts(chip), Queue(l2Rate / parts(chip))), slices(l2Rate),
      channels(size_t(chip[Fact::HbmChannels]),
               Queue(hbmRate / chip[Fact::HbmChannels])),
      channelLines(chip.cycles(Fact::HbmChannelBytes) / kLineBytes) {
  auto ratio = [&](Fact fact) {
    return chip.has(fact) ? l2Rate / chip[fact] : 1;
  };
  writeWork = ratio(Fact::L2StoreBytes);
  if (chip.has(Fact::L2WriteBytes))
    stores = Queue(chip[Fact::L2WriteBytes]);
  storesApart = chip.has(Fact::L2WriteBytes);
  countsParts = chip.has(Fact::L2WriteLines);
  if (countsParts)
    input = Queue(chip[Fact::L2WriteLines]);
  loadWork = ratio(Fact::L2LoadBytes);
  if (chip.has(Fact::PortLoadBytes))
    portWork = chip[Fact::PortBytes] / chip[Fact::PortLoadBytes];
  window = chip.cycles(Fact::L2Window);
  if (window)
    recent.assign(placement.gpcCount(), std::vector<Asked>(kRecent));
  copyCost = chip[Fact::CopyHbmCost];
  l2Spread = chip.cycles(Fact::L2Spread);
  hbmSpread = chip.cycles(Fact::HbmSpread);
  if (!l2) {
    uint64_t size = uint64_t(chip[Fact::L2Capacity] * kMiB) / parts(chip);
    l2 = std::make_shared<std::vector<Tags>>(parts(chip), Tags(size));
  }
  // Lines of earlier launches are present.
  for (Tags &part : *l2)
    part.settle();
  tags = l2;
}

/// Returns the home of the line: a half of the chip or a die. Each half
/// contains half of the SMs and of L2. The mapping is not published, so the
/// model hashes blocks of 4 KiB.
unsigned Memory::homeOf(uint64_t line) {
  constexpr unsigned kBlockLines = 32;
  return Tags::mix(line / kBlockLines) >> 32 & 1;
}

/// Returns true if an SM of the same GPC requested the line within the window.
/// Both receive the same response.
bool Memory::isMerged(unsigned sm, uint64_t cycle, uint64_t line) {
  if (!window)
    return false;
  Asked &asked = recent[placement.gpcOf(sm)][placeOf(line)];
  bool isSame = asked.line == line + 1 && cycle <= asked.cycle + window &&
                asked.cycle <= cycle + window;
  if (!isSame)
    asked = {line + 1, cycle};
  return isSame;
}

/// Looks up a line. Each half of L2 caches the lines read by its SMs. If both
/// halves miss, the line is fetched from HBM through the home half, which keeps
/// a copy while there is room. Full sectors are written without a fill.
Memory::Found Memory::look(unsigned sm, uint64_t line, Traffic traffic) {
  bool isWrite = traffic == Traffic::Store;
  bool isStreamed = traffic == Traffic::Stream;
  bool isOne = tags->size() == 1;
  unsigned home = !isOne && homeOf(line);
  unsigned own = isOne || isWrite ? home : placement.halfOf(sm);
  Found found;
  found.answer = (*tags)[own].touch(line, isWrite, isStreamed);
  if (own != home && !found.answer.isHit) {
    found.writesBack = found.answer.writesBack;
    found.copy = found.answer.line;
    Tags::Line *there = (*tags)[home].find(line);
    found.answer = there ? Tags::Answer{there, true}
                         : (*tags)[home].touch(line, false, true);
  }
  found.writesBack += found.answer.writesBack;
  return found;
}

/// Returns the position of a latency in its range, in [0, 1). The latency of L2
/// depends on the distance of the slice (512 contiguous bytes each). The
/// latency of HBM depends on the state of the channel.
double Memory::spreadOf(unsigned sm, uint64_t line, bool isHit) const {
  constexpr unsigned kSliceLines = 4;
  uint64_t place = isHit ? line / kSliceLines * ports.size() + sm : line;
  return double(Tags::mix(place) >> 40) / (1u << 24);
}

/// Prefetches the host memory for looking up `line`.
void Memory::prefetch(unsigned sm, uint64_t line) const {
  for (const Tags &part : *tags)
    part.prefetch(line);
  if (window)
    __builtin_prefetch(&recent[placement.gpcOf(sm)][placeOf(line)], 1);
}

/// Adds bytes to the HBM channel of the line.
void Memory::want(uint64_t line, double bytes) {
  size_t channel = channelOf(line);
  fetched += bytes;
  if (wanted.empty() || wanted.back().channel != channel)
    wanted.push_back({channel, 0});
  wanted.back().bytes += bytes;
}

Memory::Times Memory::pass(unsigned sm, uint64_t cycle, const Path &path,
                           const std::vector<Piece> &pieces, Traffic traffic) {
  bool isWrite = traffic == Traffic::Store;
  bool isLoad = traffic == Traffic::Load || traffic == Traffic::Stream;
  double hitSpread = 0, missSpread = 0;
  Times times;
  missed.clear();
  wanted.clear();
  double bytes = 0, work = 0;
  uint64_t late = 0; ///< last arrival among lines in flight
  double cost = traffic == Traffic::Copy ? copyCost : 1;
  constexpr size_t kAhead = 8; // lookups that are prefetched
  for (size_t k = 0; k < pieces.size(); ++k) {
    const Piece &piece = pieces[k];
    if (k + kAhead < pieces.size())
      prefetch(sm, pieces[k + kAhead].line);
    bytes += piece.bytes;
    if (isWrite)
      work += piece.bytes * writeWork;
    else if (!isMerged(sm, cycle, piece.line))
      work += piece.bytes * (isLoad ? loadWork : 1);
    Found found = look(sm, piece.line, traffic);
    if (isLoad) {
      bool isHit = found.answer.isHit;
      double &spread = isHit ? hitSpread : missSpread;
      spread = std::max(spread, spreadOf(sm, piece.line, isHit));
    }
    ++lines;
    hits += found.answer.isHit;
    if (farLatency && homeOf(piece.line) != placement.halfOf(sm))
      times.far = farLatency;
    if (found.writesBack)
      want(piece.line, kLineBytes * found.writesBack * cost);
    if (isWrite)
      continue;
    if (found.copy)
      missed.push_back(found.copy);
    uint64_t filled = found.answer.line->filled;
    if (!found.answer.isHit) {
      want(piece.line, piece.bytes * cost);
      missed.push_back(found.answer.line);
    } else if (filled + fillLatency > cycle && filled > times.underWay) {
      times.underWay = filled;
      late = piece.line;
    }
  }
  for (auto [channel, amount] : wanted) {
    uint64_t end = channels[channel].take(cycle, amount, path);
    if (end <= times.misses)
      continue;
    times.misses = end;
    times.missesPath = channels[channel].path();
  }
  if (times.underWay)
    times.underWayPath = channels[channelOf(late)].path();
  for (Tags::Line *line : missed)
    line->filled = times.misses;
  auto spread = [](uint64_t &time, Path &to, double part, uint64_t cycles,
                   Fact fact) {
    to.add(fact, uint64_t(part * double(cycles)));
    time += uint64_t(part * double(cycles));
  };
  spread(times.misses, times.missesPath, missSpread, hbmSpread,
         Fact::HbmSpread);
  uint64_t out = cycle;
  Path outPath = path;
  auto through = [&](Queue &queue, double amount) {
    uint64_t end = queue.take(cycle, amount, path);
    if (end > out)
      outPath = queue.path();
    out = std::max(out, end);
  };
  if (work > 0)
    through(slices, work);
  if (work > 0 && !isWrite)
    through(outputs[outputs.size() > 1 ? placement.halfOf(sm) : 0], work);
  if (isWrite && storesApart)
    through(stores, bytes);
  if (isWrite && countsParts)
    through(input, double(pieces.size()));
  moved += bytes;
  times.hits = ports[sm].take(cycle, isLoad ? bytes * portWork : bytes, path);
  times.hitsSource = times.hits < out ? Source::L2 : Source::L2Port;
  times.hitsPath = times.hits < out ? outPath : ports[sm].path();
  times.hits = std::max(times.hits, out);
  spread(times.hits, times.hitsPath, hitSpread, l2Spread, Fact::L2Spread);
  if (isWrite && times.hits > stored) {
    stored = times.hits;
    storedPath = times.hitsPath;
  }
  return times;
}
