//===- Trace.h - Timeline of a launch in simulated steps --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timeline of the first clusters of a launch: the activity of warps and
// asynchronous engines, the phases of mbarriers, and the state of shared memory
// filled by copies. Steps are not time; simulator/docs/Reports.md defines them.
// Plain data; simulator/lib/report renders it.
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
  // Warps.
  Run,
  WaitMbarrier,
  WaitNamedBarrier,
  WaitClusterBarrier,
  WaitGroup,  ///< groups of asynchronous copies
  WaitOthers, ///< other lanes, the warpgroup, or the CTA pair
  Exited,
  // Engines.
  Load,
  Store,
  Mma,
  TensorCopy, ///< tcgen05.cp and .shift
  Commit,
  Control, ///< cluster launch control
  // Mbarriers: a complete phase, and an incomplete phase.
  Phase,
  OpenPhase,
  // Shared memory.
  Filling,
  Full,
  Reading,
};
constexpr unsigned kNumSpanKinds = unsigned(SpanKind::Reading) + 1;
/// Returns a stable name: "run", "wait-mbarrier", ...
const char *toString(SpanKind kind);
const char *toString(TrackKind kind);

/// Activity in the steps [begin, end). Spans in the same row of a track do not
/// overlap.
struct TimelineSpan {
  static constexpr uint64_t kNever = ~0ull;
  static constexpr uint32_t kNoTrack = ~0u;

  uint64_t begin = 0, end = 0;
  SpanKind kind = SpanKind::Run;
  uint32_t row = 0;
  /// PTX lines, from 1; 0 if no line applies. A span of several instructions
  /// ends at `lastLine`.
  uint32_t line = 0, lastLine = 0;
  uint32_t text = 0; ///< label, an index in Timeline::strings
  /// Step at which an asynchronous operation was issued.
  uint64_t issued = kNever;
  /// Track of the warp that issued the operation or completed the phase, or of
  /// the mbarrier of a wait.
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
  int warp = -1;    ///< owner of the track
  uint32_t rows = 1;
  std::vector<TimelineSpan> spans; ///< sorted by row, then by step
};

/// Finding, placed at the step in which it was made.
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
  uint64_t steps = 0; ///< last step of the timeline
  uint64_t spansDropped = 0, tracksDropped = 0;
  uint64_t totalCtas = 0;
  std::string module;
  std::string ptx;                            ///< text of the module
  std::map<uint32_t, TimelineSource> sources; ///< .loc by PTX line
};

} // namespace mx::sim

#endif // MXSIM_TRACE_H
