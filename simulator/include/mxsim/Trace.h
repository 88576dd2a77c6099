//===- Trace.h - what happened, over simulated steps ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The timeline of the first clusters of a launch: what each warp did, what each
// asynchronous engine did for it, the phases of mbarriers and the state of the
// shared memory that copies fill. Steps are no time: simulator/docs/Reports.md
// says how they are counted. Plain data; simulator/lib/report makes pages of
// it.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TRACE_H
#define MXSIM_TRACE_H

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mx::sim {

enum class FindingKind;

enum class TrackKind : uint8_t { Warp, Engine, Barrier, Slot };

enum class SpanKind : uint8_t {
  // Of warps.
  Run,
  WaitMbarrier,
  WaitNamedBarrier,
  WaitClusterBarrier,
  WaitGroup,  ///< of asynchronous copies
  WaitOthers, ///< lanes of the warp, warps of the group, the pair
  Exited,
  // Of engines.
  Load,
  Store,
  Mma,
  TensorCopy, ///< tcgen05.cp and .shift
  Commit,
  Control, ///< cluster launch control
  // Of mbarriers: a phase; one that has not completed.
  Phase,
  OpenPhase,
  // Of shared memory.
  Filling,
  Full,
  Reading,
};
constexpr unsigned kNumSpanKinds = unsigned(SpanKind::Reading) + 1;
/// "run", "wait-mbarrier", ...: stable names.
const char *toString(SpanKind kind);
const char *toString(TrackKind kind);

/// Something that took the steps from `begin` up to `end`. Those of one row of
/// a track do not overlap.
struct TimelineSpan {
  static constexpr uint64_t kNever = ~0ull;
  static constexpr uint32_t kNoTrack = ~0u;

  uint64_t begin = 0, end = 0;
  SpanKind kind = SpanKind::Run;
  uint32_t row = 0;
  /// Lines of the PTX text, from 1; 0 when no line applies. `lastLine` is the
  /// last instruction of a span that stands for several.
  uint32_t line = 0, lastLine = 0;
  uint32_t text = 0; ///< index in Timeline::strings: what it is
  /// When and by which warp (a track) an asynchronous operation was issued.
  uint64_t issued = kNever;
  uint32_t issuer = kNoTrack;
  uint64_t bytes = 0;

  bool operator==(const TimelineSpan &o) const {
    return begin == o.begin && end == o.end && kind == o.kind && row == o.row &&
           line == o.line && lastLine == o.lastLine && text == o.text &&
           issued == o.issued && issuer == o.issuer && bytes == o.bytes;
  }
};

struct TimelineTrack {
  TrackKind kind = TrackKind::Warp;
  std::string name;
  uint32_t cta = 0; ///< index in Timeline::ctas
  int warp = -1;    ///< whose track it is
  uint32_t rows = 1;
  std::vector<TimelineSpan> spans; ///< by row, then by step
};

/// A finding, where it was made.
struct TimelineMark {
  uint32_t track = 0;
  uint64_t step = 0;
  uint32_t line = 0;
  uint32_t text = 0; ///< index in Timeline::strings
  FindingKind finding{};
  bool isWarning = false;
};

struct TimelineCta {
  std::array<uint32_t, 3> id;
  uint32_t rank = 0;
  uint64_t cluster = 0;
};

struct TimelineSource {
  uint32_t file = 0, line = 0; ///< file: index in Timeline::strings
};

struct Timeline {
  std::vector<TimelineCta> ctas;
  std::vector<TimelineTrack> tracks;
  std::vector<TimelineMark> marks;
  std::vector<std::string> strings;
  uint64_t steps = 0; ///< the last step of all
  uint64_t spansDropped = 0, tracksDropped = 0;
  uint64_t totalCtas = 0;
  std::string module;
  std::string ptx;                            ///< the module's text
  std::map<uint32_t, TimelineSource> sources; ///< by line of the PTX, of .loc
};

} // namespace mx::sim

#endif // MXSIM_TRACE_H
