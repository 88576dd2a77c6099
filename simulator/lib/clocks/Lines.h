//===- Lines.h - Accesses of granules in lines ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most accesses cover whole lines of 32 bytes, and find lines in the same
// state. A line therefore has a single cell until an access to a part of it,
// and the change of a cell is computed once for all equal cells of an access.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_CLOCKS_LINES_H
#define MXSIM_LIB_CLOCKS_LINES_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mx::sim {

/// Lane of an access: 1 to 32, kSeveralLanes if several lanes have accessed the
/// same bytes, or 0 if unknown. Accesses of unknown lanes do not conflict with
/// other lanes of their warp.
using Lane = uint8_t;
constexpr Lane kUnknownLane = 0, kSeveralLanes = 33;

/// Lanes of the granules of a line.
struct Lanes {
  Lane of[8] = {};
  uint64_t bits() const {
    uint64_t bits;
    std::memcpy(&bits, of, sizeof bits);
    return bits;
  }
  bool operator==(Lanes o) const { return bits() == o.bits(); }
  bool operator!=(Lanes o) const { return bits() != o.bits(); }
};

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
  /// Returns the lanes from byte `offset`, where a lane begins.
  LaneRun from(uint64_t offset) const {
    return {at(offset), shift, table ? table + offset / 4 : nullptr};
  }
  /// Returns true if each lane accesses bytes of its own.
  bool isEach() const { return table || shift < 63; }
  /// Returns the lanes of at least `count` granules from byte `offset`.
  Lanes granules(uint64_t offset, size_t count = 8) const {
    constexpr uint64_t kEach = 0x0101010101010101;
    // For 4 to 16 bytes of each lane.
    constexpr uint64_t kRows[] = {0x0706050403020100, 0x0303020201010000,
                                  0x0101010100000000};
    uint64_t bits = kEach * at(offset) + (shift < 5 ? kRows[shift - 2] : 0);
    Lanes lanes = {};
    if (!table)
      std::memcpy(lanes.of, &bits, sizeof bits);
    else
      for (size_t k = 0; k < count; ++k)
        lanes.of[k] = table[offset / 4 + k];
    return lanes;
  }
};

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
  /// not met since.
  bool isWriteNear = false, isReadNear = false;
};

/// Shadow of consecutive granules. A cell has members `write` and `read`.
template <class Cell>
class LineShadow {
public:
  static constexpr uint64_t kGranules = 8, kBytes = 4 * kGranules;

  void reset(uint64_t bytes) {
    lines.assign((bytes + kBytes - 1) / kBytes, Line());
    splits.clear();
  }
  /// Records an access of the bytes from `begin` to `end`. `run` contains the
  /// lanes, from `begin`, if the access has lanes. The access `v` contains:
  /// - hasLanes, isWrite, and isPlain: false if each granule needs a visit
  /// - last, the last change of a cell
  /// - visit(cell, granule, byte mask): records the access in a cell, which may
  ///   represent several granules; returns true if every equal cell changes
  ///   alike
  /// - visitLane(cell, lane of the write, lane of the read, granule, byte mask,
  ///   lane): records the lane, before `visit`
  /// - isNear(access of a cell): see Change
  /// - isSame(access of a cell): true for `v`
  template <class V>
  void visit(uint64_t begin, uint64_t end, LaneRun run, V &v);

private:
  struct Line {
    Cell cell;
    uint32_t place = kNoPlace; ///< in `splits`
    bool isSplit = false;
    /// Lanes of `write` and `read` of each granule. Engines have none.
    Lanes write = {}, read = {};
  };
  /// Cells of the granules of a split line.
  using Split = std::array<Cell, kGranules>;
  static constexpr uint32_t kNoPlace = ~0u;

public:
  /// Size of the shadow of a line.
  static constexpr size_t kMostPerLine = sizeof(Line) + sizeof(Split);

private:
  Split &split(Line &line);
  template <class V>
  static bool joinLanes(Line &line, Lanes lanes, V &v);
  template <class V>
  static void change(Cell &cell, uint64_t granule, unsigned mask, V &v);

  std::vector<Line> lines;
  std::vector<Split> splits;
};

template <class Cell>
__attribute__((noinline)) typename LineShadow<Cell>::Split &
LineShadow<Cell>::split(Line &line) {
  if (line.place == kNoPlace) {
    line.place = uint32_t(splits.size());
    splits.emplace_back();
  }
  line.isSplit = true;
  Split &s = splits[line.place];
  s.fill(line.cell);
  return s;
}

/// Records the lanes of an access to all granules of an unsplit line, before
/// its cell records the access. Returns false, and records nothing, if the
/// granules may get different cells.
template <class Cell>
template <class V>
bool LineShadow<Cell>::joinLanes(Line &line, Lanes lanes, V &v) {
  bool isKnown = v.last.isKnown && line.cell == v.last.from;
  auto isOtherWrite = [&] {
    return line.write != lanes && line.write.bits() && lanes.bits() &&
           (isKnown ? v.last.isWriteNear : v.isNear(line.cell.write));
  };
  auto isOtherRead = [&] {
    return line.read != lanes &&
           (isKnown ? v.last.isReadNear : v.isNear(line.cell.read));
  };
  if (isOtherWrite() || isOtherRead() ||
      (v.isWrite && line.write != lanes && v.isSame(line.cell.write)))
    return false;
  line.read = lanes;
  if (v.isWrite)
    line.write = lanes;
  return true;
}

template <class Cell>
template <class V>
__attribute__((always_inline)) inline void
LineShadow<Cell>::change(Cell &cell, uint64_t granule, unsigned mask, V &v) {
  if (v.last.isKnown && mask == 15 && cell == v.last.from) {
    cell = v.last.to;
    return;
  }
  Cell from = cell;
  bool isAlike = v.visit(cell, granule, mask);
  v.last.isKnown = isAlike && mask == 15 && v.isPlain &&
                   !v.isSame(from.write) && !v.isSame(from.read);
  if (!v.last.isKnown)
    return;
  v.last.from = from;
  v.last.to = cell;
  if constexpr (V::hasLanes) {
    v.last.isWriteNear = v.isNear(from.write);
    v.last.isReadNear = v.isNear(from.read);
  }
}

template <class Cell>
template <class V>
void LineShadow<Cell>::visit(uint64_t begin, uint64_t end, LaneRun run, V &v) {
  uint64_t n = begin / kBytes, at = n * kBytes;
  for (; at < end && n < lines.size(); ++n, at += kBytes) {
    Line &line = lines[n];
    bool isWhole = begin <= at && at + kBytes <= end;
    if (isWhole && !line.isSplit && v.isPlain &&
        (!V::hasLanes || joinLanes(line, run.granules(at - begin), v))) {
      change(line.cell, at / 4, 15, v);
      continue;
    }
    Split &cells = line.isSplit ? splits[line.place] : split(line);
    uint64_t from = std::max(begin, at), to = std::min(end, at + kBytes);
    Lane *write = line.write.of + (from - at) / 4,
         *read = line.read.of + (from - at) / 4;
    // Most lanes access their own granules again.
    bool isSettled = false;
    if (V::hasLanes && run.isEach()) {
      size_t count = (to - from) / 4;
      Lanes lanes = run.granules(from - begin, count);
      isSettled = !std::memcmp(read, lanes.of, count) &&
                  (!std::memcmp(write, lanes.of, count) ||
                   (!v.isWrite && !std::memcmp(write, Lanes().of, count)));
    }
    forGranules(from, to - from,
                [&](uint64_t g, unsigned mask) __attribute__((always_inline)) {
                  Cell &cell = cells[g % kGranules];
                  if (V::hasLanes && !isSettled) {
                    Lane &w = line.write.of[g % kGranules],
                         &r = line.read.of[g % kGranules];
                    Lane lane = run.at(std::max(g * 4, begin) - begin);
                    if (v.last.isKnown && mask == 15 && cell == v.last.from &&
                        (!v.last.isWriteNear || w == lane) &&
                        (!v.last.isReadNear || r == lane)) {
                      w = v.isWrite ? lane : w;
                      r = lane;
                    } else {
                      v.visitLane(cell, w, r, g, mask, lane);
                    }
                  }
                  change(cell, g, mask, v);
                });
    if (isWhole && v.isWrite && v.isPlain &&
        (!V::hasLanes ||
         (line.write == line.read && line.write == run.granules(at - begin)))) {
      line.cell = cells[0];
      line.isSplit = false;
    }
  }
}

} // namespace mx::sim

#endif // MXSIM_LIB_CLOCKS_LINES_H
