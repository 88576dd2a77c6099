//===- Lines.h - Accesses of granules in lines ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most accesses cover whole lines, and find lines in the same state. A line
// therefore has a single cell until an access to a part of it, and the change
// of a cell is computed once for all equal cells of an access.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_CLOCKS_LINES_H
#define MXSIM_LIB_CLOCKS_LINES_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace mx::sim {

/// Lane of an access: 1 to 32, kSeveralLanes if several lanes have accessed the
/// same bytes, or 0 if unknown. Accesses of unknown lanes do not conflict with
/// other lanes of their warp.
using Lane = uint8_t;
constexpr Lane kUnknownLane = 0, kSeveralLanes = 33;

/// Lanes of the granules of a line.
template <size_t Granules>
using LineLanes = std::array<Lane, Granules>;

/// Lanes of a range of bytes: those of `table`, which has an entry for each
/// granule, or 2^`shift` bytes for each lane, beginning with `first`, or by
/// default `first` for the whole range.
struct LaneRun {
  Lane first = kUnknownLane;
  uint8_t shift = 63;
  const Lane *table = nullptr;
  Lane at(uint64_t offset) const {
    return table ? table[offset / 4] : Lane(first + (offset >> shift));
  }
  /// Returns true if each lane accesses bytes of its own.
  bool isEach() const { return table || shift < 63; }
  /// Returns the lanes of `count` granules from byte `offset`.
  template <size_t Granules>
  LineLanes<Granules> granules(uint64_t offset, size_t count = Granules) const {
    LineLanes<Granules> lanes = {};
    if (table)
      std::memcpy(lanes.data(), table + offset / 4, count);
    else
      for (size_t k = 0; k < Granules; ++k)
        lanes[k] = Lane(first + ((offset + k * 4) >> shift));
    return lanes;
  }
};

/// Numbers for the lanes of a line. Equal lanes have equal numbers.
using LanesNumber = uint16_t;
template <size_t Granules>
class LanesNumbers {
public:
  using LineLanes = mx::sim::LineLanes<Granules>;
  /// Returns the number of the lanes of a line from byte `offset` of an access,
  /// or that of unknown lanes if there are too many.
  LanesNumber of(const LaneRun &run, uint64_t offset) {
    return run.table ? ofTable(run.granules<Granules>(offset), offset)
                     : number(run.at(offset), run.isEach() ? run.shift : 0);
  }
  LineLanes lanesOf(LanesNumber n) const {
    if (n >= kRows)
      return tables[n - kRows];
    LaneRun run{Lane(n & 63), uint8_t(n < 64 ? 63 : n >> 6)};
    return run.granules<Granules>(0);
  }

private:
  /// Number of a row with 2^`shift` bytes a lane.
  static LanesNumber number(Lane first, unsigned shift) {
    return LanesNumber(shift << 6 | first);
  }
  static constexpr LanesNumber kRows = 6 << 6;
  static constexpr size_t kMostTables = 1024;
  LanesNumber ofTable(const LineLanes &lanes, uint64_t offset);

  std::vector<LineLanes> tables;
  /// Last numbers, by the place of the line in its access.
  struct Memo {
    LineLanes lanes = {};
    LanesNumber number = 0;
  } memos[8];
};

template <size_t Granules>
LanesNumber LanesNumbers<Granules>::ofTable(const LineLanes &lanes,
                                            uint64_t offset) {
  Memo &memo = memos[offset / (4 * Granules) % 8];
  if (memo.lanes == lanes)
    return memo.number;
  memo.lanes = lanes;
  for (unsigned shift = 2; shift < 6; ++shift)
    if (memo.number = number(lanes[0], shift); lanesOf(memo.number) == lanes)
      return memo.number;
  size_t k =
      size_t(std::find(tables.begin(), tables.end(), lanes) - tables.begin());
  if (k == kMostTables)
    return memo.number = number(kUnknownLane, 0);
  if (k == tables.size())
    tables.push_back(lanes);
  return memo.number = LanesNumber(kRows + k);
}

/// Consecutive bytes of an access by one or more lanes.
struct AccessRange {
  uint64_t address = 0; ///< offset in the CTA, for shared memory
  uint64_t bytes = 0;
  uint32_t lanes = 0;
  LaneRun run;
  /// Returns the lanes of an access to the granule at `place`, as far as known:
  /// of a row, the lanes of all granules.
  uint32_t lanesAt(uint64_t place) const {
    return run.table ? 1u << (run.at(place - address) - 1) : lanes;
  }
};
struct AccessRanges {
  const AccessRange *first;
  size_t count;
  const AccessRange *begin() const { return first; }
  const AccessRange *end() const { return first + count; }
};

/// Calls fn(granule, byte mask) for the granules of a byte range.
template <class F>
inline void forGranules(uint64_t begin, uint64_t bytes, F &&fn) {
  uint64_t end = begin + bytes;
  for (uint64_t g = begin / 4; g * 4 < end; ++g) {
    unsigned mask = 15;
    if (g * 4 < begin)
      mask &= 15u << (begin - g * 4);
    if (g * 4 + 4 > end)
      mask &= 15u >> (g * 4 + 4 - end);
    fn(g, mask & 15u);
  }
}

/// Change of a cell by an access.
template <class Cell>
struct Change {
  Cell from, to;
  bool isKnown = false;
  /// The warp of the access made the earlier write or read, and its lanes have
  /// not met since. Valid if `hasNear` is set.
  bool hasNear = false, isWriteNear = false, isReadNear = false;
  /// Returns true if the access changes `cell` alike.
  template <class V>
  bool isOf(const Cell &cell, V &v) {
    if (!isKnown || !(cell == from))
      return false;
    if (V::hasLanes && !hasNear) {
      isWriteNear = v.isNear(from.write);
      isReadNear = v.isNear(from.read);
      hasNear = true;
    }
    return true;
  }
};

/// Shadow of consecutive granules. A cell has members `write` and `read`.
template <class Cell, size_t Granules>
class LineShadow {
public:
  static constexpr uint64_t kGranules = Granules, kBytes = 4 * kGranules;
  using Numbers = LanesNumbers<Granules>;

  void reset(uint64_t bytes) {
    lines.assign((bytes + kBytes - 1) / kBytes, Line());
    splits.clear();
  }
  /// Records an access of the bytes from `begin` to `end`. `run` contains the
  /// lanes, from `origin`, if the access has lanes. The access `v` contains:
  /// - hasLanes, isWrite, and isPlain: false if each granule needs a visit
  /// - last, the last change of a granule
  /// - numbers(), the numbers of the lanes
  /// - visit(cell, granule, byte mask): records the access in a cell, which may
  ///   represent several granules; returns true if every equal cell changes
  ///   alike
  /// - visitLane(cell, lane of the write, lane of the read, granule, byte mask,
  ///   lane): records the lane, before `visit`
  /// - isNear(access of a cell): see Change
  /// - isSame(access of a cell): true for `v`
  template <class V>
  void visit(uint64_t begin, uint64_t end, uint64_t origin, const LaneRun &run,
             V &v);

private:
  struct Line {
    Cell cell;
    uint32_t place : 31; ///< in `splits`
    uint32_t isSplit : 1;
    /// Lanes of `write` and `read`. Engines have none.
    LanesNumber write = 0, read = 0;
    Line() : place(kNoPlace), isSplit(false) {}
  };
  /// Granules of a split line.
  struct Split {
    std::array<Cell, kGranules> cells;
    LineLanes<Granules> write, read;
  };
  static constexpr uint32_t kNoPlace = ~0u >> 1;

public:
  /// Size of the shadow of a line.
  static constexpr size_t kMostPerLine = sizeof(Line) + sizeof(Split);

private:
  Split &split(Line &line, const Numbers &numbers);
  template <class V>
  void visitParts(uint64_t begin, uint64_t at, uint64_t end, uint64_t origin,
                  const LaneRun &run, V &v);
  template <class V>
  static bool joinLanes(Line &line, LanesNumber lanes, V &v);
  template <class V>
  static void visitGranule(Split &s, uint64_t g, unsigned mask,
                           std::optional<Lane> lane, V &v);
  template <class V>
  static void change(Cell &cell, uint64_t granule, unsigned mask, V &v,
                     Change<Cell> &last);

  std::vector<Line> lines;
  std::vector<Split> splits;
};

template <class Cell, size_t Granules>
__attribute__((noinline)) typename LineShadow<Cell, Granules>::Split &
LineShadow<Cell, Granules>::split(Line &line, const Numbers &numbers) {
  if (line.place == kNoPlace) {
    line.place = uint32_t(splits.size());
    splits.emplace_back();
  }
  line.isSplit = true;
  Split &s = splits[line.place];
  s.cells.fill(line.cell);
  s.write = numbers.lanesOf(line.write);
  s.read = numbers.lanesOf(line.read);
  return s;
}

/// Records the lanes of an access to all granules of an unsplit line, before
/// its cell records the access. Returns false, and records nothing, if the
/// granules may get different cells.
template <class Cell, size_t Granules>
template <class V>
__attribute__((always_inline)) inline bool
LineShadow<Cell, Granules>::joinLanes(Line &line, LanesNumber lanes, V &v) {
  bool isOtherWrite = line.write != lanes && line.write && lanes;
  if ((isOtherWrite && v.isNear(line.cell.write)) ||
      (line.read != lanes && v.isNear(line.cell.read)) ||
      (v.isWrite && line.write != lanes && v.isSame(line.cell.write)))
    return false;
  line.read = lanes;
  if (v.isWrite)
    line.write = lanes;
  return true;
}

/// Records the access in a cell, and its change in `last`.
template <class Cell, size_t Granules>
template <class V>
__attribute__((always_inline)) inline void
LineShadow<Cell, Granules>::change(Cell &cell, uint64_t granule, unsigned mask,
                                   V &v, Change<Cell> &last) {
  if (last.isKnown && mask == 15 && cell == last.from) {
    cell = last.to;
    return;
  }
  // Copies stay in registers.
  Cell from = cell, to = from;
  bool isAlike = v.visit(to, granule, mask);
  cell = to;
  last.isKnown = isAlike && mask == 15 && v.isPlain && !v.isSame(from.write) &&
                 !v.isSame(from.read);
  if (!last.isKnown)
    return;
  last.from = from;
  last.to = to;
  last.hasNear = false;
}

/// Records an access to a granule of a split line by `lane`, if any.
template <class Cell, size_t Granules>
template <class V>
__attribute__((always_inline)) inline void
LineShadow<Cell, Granules>::visitGranule(Split &s, uint64_t g, unsigned mask,
                                         std::optional<Lane> lane, V &v) {
  Cell &cell = s.cells[g % kGranules];
  if (V::hasLanes && lane) {
    Lane &w = s.write[g % kGranules], &r = s.read[g % kGranules];
    if (mask == 15 && v.last.isOf(cell, v) &&
        (!v.last.isWriteNear || w == *lane) &&
        (!v.last.isReadNear || r == *lane)) {
      w = v.isWrite ? *lane : w;
      r = *lane;
    } else {
      v.visitLane(cell, w, r, g, mask, *lane);
    }
  }
  change(cell, g, mask, v, v.last);
}

template <class Cell, size_t Granules>
template <class V>
__attribute__((always_inline)) inline void
LineShadow<Cell, Granules>::visit(uint64_t begin, uint64_t end, uint64_t origin,
                                  const LaneRun &run, V &v) {
  uint64_t n = begin / kBytes;
  if (end - begin == 4 && begin % 4 == 0 && n < lines.size()) {
    Line &line = lines[n];
    return visitGranule(line.isSplit ? splits[line.place]
                                     : split(line, v.numbers()),
                        begin / 4, 15, run.at(begin - origin), v);
  }
  end = std::min(end, lines.size() * kBytes);
  uint64_t at = begin;
  if (v.isPlain && begin % kBytes == 0) {
    Change<Cell> last; // in registers
    for (Line *line = lines.data() + n; at + kBytes <= end;
         ++line, at += kBytes) {
      LanesNumber lanes = 0;
      if constexpr (V::hasLanes)
        lanes = v.numbers().of(run, at - origin);
      if (line->isSplit)
        break;
      if (last.isOf(line->cell, v) &&
          (!last.isWriteNear || line->write == lanes || !line->write ||
           !lanes) &&
          (!last.isReadNear || line->read == lanes)) {
        line->cell = last.to;
        line->read = lanes;
        line->write = v.isWrite ? lanes : line->write;
        continue;
      }
      if (V::hasLanes && !joinLanes(*line, lanes, v))
        break;
      change(line->cell, at / 4, 15, v, last);
    }
  }
  if (at < end)
    visitParts(begin, at, end, origin, run, v);
}

/// Visits the lines from `at`, of which some are split or covered in part.
template <class Cell, size_t Granules>
template <class V>
__attribute__((noinline)) void
LineShadow<Cell, Granules>::visitParts(uint64_t begin, uint64_t at,
                                       uint64_t end, uint64_t origin,
                                       const LaneRun &run, V &v) {
  uint64_t n = at / kBytes;
  for (at = n * kBytes; at < end; ++n, at += kBytes) {
    Line &line = lines[n];
    bool isWhole = begin <= at && at + kBytes <= end;
    LanesNumber lanes = 0;
    if constexpr (V::hasLanes)
      if (isWhole)
        lanes = v.numbers().of(run, at - origin);
    if (isWhole && !line.isSplit && v.isPlain &&
        (!V::hasLanes || joinLanes(line, lanes, v))) {
      change(line.cell, at / 4, 15, v, v.last);
      continue;
    }
    Split &s = line.isSplit ? splits[line.place] : split(line, v.numbers());
    uint64_t from = std::max(begin, at), to = std::min(end, at + kBytes);
    // Most lanes access their own granules again.
    bool isSettled = false;
    if (V::hasLanes && run.isEach()) {
      size_t count = (to - from) / 4, first = from % kBytes / 4;
      LineLanes<Granules> now = run.granules<Granules>(from - origin, count);
      auto isNow = [&](const LineLanes<Granules> &then) {
        return !std::memcmp(then.data() + first, now.data(), count);
      };
      isSettled =
          isNow(s.read) &&
          (isNow(s.write) ||
           (!v.isWrite && !std::memcmp(s.write.data() + first,
                                       LineLanes<Granules>().data(), count)));
    }
    forGranules(from, to - from, [&](uint64_t g, unsigned mask) {
      std::optional<Lane> lane;
      if (V::hasLanes && !isSettled)
        lane = run.at(std::max(g * 4, begin) - origin);
      visitGranule(s, g, mask, lane, v);
    });
    if (!isWhole || !v.isWrite || !v.isPlain)
      continue;
    if constexpr (V::hasLanes) {
      if (s.write != s.read || s.write != run.granules<Granules>(at - origin))
        continue;
      line.write = line.read = lanes;
    }
    line.cell = s.cells[0];
    line.isSplit = false;
  }
}

} // namespace mx::sim

#endif // MXSIM_LIB_CLOCKS_LINES_H
