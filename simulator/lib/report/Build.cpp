//===- Build.cpp - Conversion of recorded clocks to tracks ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When a cluster ends, its recorded clocks are converted to tracks of rows with
// consecutive spans. The recorders of a launch are merged into one timeline.
//===----------------------------------------------------------------------===//

#include "Recorder.h"

#include "mxsim/tensor/Mbarrier.h"

#include <algorithm>

using namespace mx::sim;

/// Limit on the ranges of shared memory with a track.
static constexpr size_t kMaxSlots = 96;

const char *mx::sim::toString(SpanKind kind) {
  static constexpr const char *names[kNumSpanKinds] = {
      "run",        "wait-mbarrier", "wait-barrier", "wait-cluster",
      "wait-group", "wait-others",   "exited",       "load",
      "store",      "mma",           "tensor-copy",  "commit",
      "control",    "phase",         "open-phase",   "filling",
      "full",       "reading"};
  return names[unsigned(kind)];
}

const char *mx::sim::toString(TrackKind kind) {
  static constexpr const char *names[] = {"warp", "engine", "barrier", "slot"};
  return names[unsigned(kind)];
}

/// Replaces the strand number in each span's `row` by the lowest free row.
/// Spans that continue a strand stay in its row. Returns the number of rows.
static uint32_t assignRows(std::vector<TimelineSpan> &spans) {
  struct Place {
    uint64_t end = 0;
    uint32_t row = 0;
  };
  std::vector<uint64_t> rowEnd = {0};
  std::map<uint32_t, Place> strands;
  std::stable_sort(spans.begin(), spans.end(),
                   [](const TimelineSpan &a, const TimelineSpan &b) {
                     return std::make_pair(a.begin, a.end) <
                            std::make_pair(b.begin, b.end);
                   });
  std::vector<size_t> others;
  auto put = [&](TimelineSpan &s, uint32_t row) {
    rowEnd[row] = s.end;
    strands[s.row] = {s.end, row};
    s.row = row;
  };
  for (size_t first = 0, end; first < spans.size(); first = end) {
    // Spans that continue a strand take precedence over other spans that begin
    // at the same step.
    others.clear();
    for (end = first;
         end < spans.size() && spans[end].begin == spans[first].begin; ++end) {
      auto it = strands.find(spans[end].row);
      if (it != strands.end() && it->second.end == spans[end].begin &&
          rowEnd[it->second.row] == spans[end].begin)
        put(spans[end], it->second.row);
      else
        others.push_back(end);
    }
    for (size_t k : others) {
      uint32_t row = 0;
      while (row < rowEnd.size() && rowEnd[row] > spans[k].begin)
        ++row;
      if (row == rowEnd.size())
        rowEnd.push_back(0);
      put(spans[k], row);
    }
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const TimelineSpan &a, const TimelineSpan &b) {
                     return std::make_pair(a.row, a.begin) <
                            std::make_pair(b.row, b.begin);
                   });
  return uint32_t(rowEnd.size());
}

/// Merges consecutive runs with no wait in between.
static void joinRuns(std::vector<TimelineSpan> &spans) {
  std::vector<TimelineSpan> joined;
  for (const TimelineSpan &s : spans) {
    TimelineSpan *last = joined.empty() ? nullptr : &joined.back();
    if (last && last->kind == SpanKind::Run && s.kind == SpanKind::Run &&
        last->row == s.row && last->end == s.begin) {
      last->end = s.end;
      last->lastLine = s.lastLine;
    } else {
      joined.push_back(s);
    }
  }
  spans = std::move(joined);
}

//===----------------------------------------------------------------------===//
// One cluster
//===----------------------------------------------------------------------===//

/// Converts a failed test to a wait if its loop had not ended when the launch
/// ended.
void Recorder::leaveTests(Strand &s) {
  if (!s.isActive || s.isWaiting || !s.testAt || s.testEvents != s.events)
    return;
  s.isWaiting = true;
  s.waitBegin = s.testBegin;
  s.waitLine = lineOf(s.testAt);
  s.waiting = {SpanKind::WaitMbarrier, s.testBarrier >> kRankShift,
               s.testBarrier & kOffsetMask, s.testParity};
}

/// Closes spans that are open because the launch stopped or deadlocked.
void Recorder::closeWarps() {
  for (auto &cta : cluster.ctas)
    for (Warp &w : cta->warps) {
      WarpTrace &t = of(w);
      for (Strand &s : t.strands)
        leaveTests(s);
      for (Group &g : w.groups)
        if (g.strand < t.strands.size() && t.strands[g.strand].isActive)
          endRun(t, t.strands[g.strand], g.strand,
                 t.strands[g.strand].isWaiting ? t.strands[g.strand].waitBegin
                                               : g.step);
    }
}

uint64_t Recorder::lastStep() const {
  uint64_t last = 0;
  auto look = [&](const std::vector<TimelineSpan> &spans) {
    for (const TimelineSpan &s : spans)
      last = std::max(last, s.end);
  };
  for (const WarpTrace &t : warps) {
    look(t.spans);
    for (auto &spans : t.operations)
      look(spans);
    if (t.exitStep != TimelineSpan::kNever)
      last = std::max(last, t.exitStep);
  }
  for (auto &[key, b] : mbarriers)
    last = std::max({last, b.completed, b.latest});
  for (auto &cta : cluster.ctas)
    for (Warp &w : cta->warps)
      for (Group &g : w.groups)
        last = std::max(last, g.step + 1);
  return last;
}

void Recorder::buildWarps(Timeline &t, Cta &cta, uint32_t index, uint64_t end) {
  static constexpr const char *names[kNumEngines] = {
      "bulk loads", "bulk stores",    "tcgen05 pipe", "cp.async",
      "st.async",   "launch control", "wgmma",        "tcgen05.commit"};
  uint32_t first = uint32_t(t.tracks.size());
  for (Warp &w : cta.warps) {
    WarpTrace &trace = of(w);
    for (Group &g : w.groups) {
      if (g.strand >= trace.strands.size() ||
          !trace.strands[g.strand].isWaiting)
        continue;
      const Strand &s = trace.strands[g.strand];
      TimelineSpan span;
      span.begin = s.waitBegin;
      span.end = end;
      span.kind = s.waiting.kind;
      span.row = g.strand;
      span.line = span.lastLine = s.waitLine;
      span.text = intern(waitText(s.waiting) + ", which never ends");
      if (span.end > span.begin)
        trace.spans.push_back(span);
    }
    if (trace.exitStep < end) {
      TimelineSpan span;
      span.begin = trace.exitStep;
      span.end = end;
      span.kind = SpanKind::Exited;
      span.line = span.lastLine = trace.exitLine;
      trace.spans.push_back(span);
    }
    TimelineTrack track;
    track.name = "warp " + std::to_string(w.index);
    track.cta = index;
    track.warp = int(w.index);
    track.spans = std::move(trace.spans);
    track.rows = assignRows(track.spans);
    joinRuns(track.spans);
    t.tracks.push_back(std::move(track));
  }
  for (Warp &w : cta.warps)
    for (unsigned e = 0; e < kNumEngines; ++e) {
      std::vector<TimelineSpan> &spans = of(w).operations[e];
      if (spans.empty())
        continue;
      TimelineTrack track;
      track.kind = TrackKind::Engine;
      track.name = std::string(names[e]) + ", warp " + std::to_string(w.index);
      track.cta = index;
      track.warp = int(w.index);
      for (TimelineSpan &s : spans) {
        s.issuer = first + w.index;
        s.row = 0;
      }
      track.spans = std::move(spans);
      track.rows = assignRows(track.spans);
      t.tracks.push_back(std::move(track));
    }
  for (const Mark &m : marks)
    if (m.rank == cta.rank) {
      TimelineMark mark = m.mark;
      mark.track = first + (m.warp >= 0 && size_t(m.warp) < cta.warps.size()
                                ? uint32_t(m.warp)
                                : 0);
      mark.step = std::min(mark.step, end);
      t.marks.push_back(mark);
    }
}

void Recorder::buildBarriers(Timeline &t, uint32_t rank, uint32_t index,
                             uint64_t end) {
  for (auto &[key, b] : mbarriers) {
    if (key >> kRankShift != rank)
      continue;
    bool isOpen = b.arrivals || b.bytes || b.expected || cluster.liveThreads;
    if (b.isUsed && isOpen && b.phaseBegin < end) {
      uint64_t word = cluster.ctas[rank]->mbarriers[key & kOffsetMask].word;
      MbarrierState s = mbarrierState(word);
      TimelineSpan span;
      span.begin = b.phaseBegin;
      span.end = end;
      span.kind = SpanKind::OpenPhase;
      span.line = span.lastLine = b.line;
      span.bytes = b.bytes;
      span.text = intern("phase " + std::to_string(b.phases) +
                         " has not completed: " + describeMbarrier(word));
      if (s.live)
        b.spans.push_back(span);
    }
    TimelineTrack track;
    track.kind = TrackKind::Barrier;
    track.name = machine.describeSharedOffset(key & kOffsetMask);
    track.cta = index;
    track.spans = std::move(b.spans);
    t.tracks.push_back(std::move(track));
  }
}

void Recorder::buildSlots(Timeline &t, uint32_t rank, uint32_t index) {
  size_t count = 0;
  for (auto &[key, slot] : slots) {
    if (key >> kRankShift != rank)
      continue;
    if (++count > kMaxSlots) {
      ++t.tracksDropped;
      continue;
    }
    TimelineTrack track;
    track.kind = TrackKind::Slot;
    track.name = machine.describeSharedOffset(key & kOffsetMask) + ", " +
                 std::to_string(slot.bytes) + " bytes";
    track.cta = index;
    // A single row suffices because a correct program neither refills a slot
    // that is being read nor reads a slot that is not filled. In other
    // programs, the row shows the latest state.
    uint64_t last = 0;
    auto put = [&](uint64_t begin, uint64_t end, SpanKind kind, uint32_t line,
                   uint32_t lastLine, const Fill &f, const char *text) {
      TimelineSpan s;
      s.begin = std::max(begin, last);
      s.end = end;
      s.kind = kind;
      s.line = line;
      s.lastLine = lastLine;
      s.bytes = f.bytes;
      s.text = intern(text);
      if (kind == SpanKind::Filling)
        s.issued = f.issued;
      if (s.end <= s.begin)
        return;
      last = s.end;
      track.spans.push_back(s);
    };
    for (size_t k = 0; k < slot.fills.size(); ++k) {
      const Fill &f = slot.fills[k];
      bool isFilled = f.begin != TimelineSpan::kNever;
      bool isRead = f.readBegin != TimelineSpan::kNever;
      if (isFilled)
        put(f.begin, f.done, SpanKind::Filling, f.line, f.line, f,
            "a copy fills it");
      uint64_t until = isRead ? f.readBegin
                       : k + 1 < slot.fills.size() &&
                               slot.fills[k + 1].begin != TimelineSpan::kNever
                           ? slot.fills[k + 1].begin
                           : f.done;
      if (isFilled)
        put(f.done, until, SpanKind::Full, f.line, f.line, f, "full");
      if (isRead)
        put(f.readBegin, f.readEnd, SpanKind::Reading, f.readLine, f.readLast,
            f, "engines read it");
    }
    t.tracks.push_back(std::move(track));
  }
}

/// Replaces keys of mbarriers and indices of warps by tracks.
void Recorder::connect(Timeline &t) const {
  std::map<uint32_t, uint32_t> warpTracks, barrierTracks;
  auto barrier = mbarriers.begin();
  for (uint32_t k = 0; k < t.tracks.size(); ++k)
    if (t.tracks[k].kind == TrackKind::Warp)
      warpTracks.emplace(uint32_t(warpTracks.size()), k);
    else if (t.tracks[k].kind == TrackKind::Barrier)
      barrierTracks[(barrier++)->first] = k;
  for (TimelineTrack &track : t.tracks)
    for (TimelineSpan &s : track.spans)
      if (s.kind == SpanKind::WaitMbarrier || s.kind == SpanKind::Phase) {
        auto &tracks = s.kind == SpanKind::Phase ? warpTracks : barrierTracks;
        auto it = tracks.find(s.issuer);
        s.issuer = it == tracks.end() ? TimelineSpan::kNoTrack : it->second;
      }
}

void Recorder::build(Timeline &t) {
  if (!hasTimeline)
    return;
  closeWarps();
  uint64_t end = lastStep();
  for (auto &cta : cluster.ctas) {
    uint32_t index = uint32_t(t.ctas.size());
    t.ctas.push_back(
        {{cta->id.x, cta->id.y, cta->id.z}, cta->rank, cluster.index});
    buildWarps(t, *cta, index, end);
    buildBarriers(t, cta->rank, index, end);
    buildSlots(t, cta->rank, index);
  }
  connect(t);
  t.steps = std::max(t.steps, end);
  t.spansDropped += spansDropped;
  t.strings = std::move(strings);
}
