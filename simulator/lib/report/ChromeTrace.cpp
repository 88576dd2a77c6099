//===- ChromeTrace.cpp - Modelled time in the Trace Event Format ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA is a process, and a row of a track is a thread. Launches follow each
// other. Perfetto (ui.perfetto.dev) shows the file.
//===----------------------------------------------------------------------===//

#include "mxsim/Report.h"
#include "mxsim/io/JsonWriter.h"

#include <algorithm>
#include <cmath>

using namespace mx::sim;
using mx::JsonWriter;

namespace {

/// Units of time in a microsecond.
constexpr double kUnits = 1e4;

/// Writes the events of a launch.
class Writer {
public:
  /// The launch begins at `start`.
  Writer(JsonWriter &w, const LaunchReport &r, uint64_t start,
         uint64_t firstProcess, uint64_t &arrows)
      : w(w), r(r), t(*r.timeline), start(start), firstProcess(firstProcess),
        arrows(arrows) {}
  void write();

private:
  uint64_t at(uint64_t cycle) const {
    return start + uint64_t(std::llround(double(cycle) * kUnits / r.time.mhz));
  }
  /// Opens an event of a row of a track, and adds the members of `more`.
  template <class F>
  void event(std::string_view phase, std::string_view name, size_t track,
             uint32_t row, F more) {
    w.line([&] {
      w.object([&] {
        w.member("ph", phase);
        w.member("name", name);
        w.member("pid", firstProcess + t.tracks[track].cta);
        w.member("tid", rowsBefore[track] + row);
        more();
      });
    });
  }
  void time(std::string_view key, uint64_t units) {
    w.member(key, JsonWriter::Decimal{units, 4});
  }
  void name(size_t track);
  void span(size_t track, const TimelineSpan &s);
  void flow(std::string_view phase, size_t track, uint32_t row, uint64_t units);
  void arrow(size_t track, const TimelineSpan &s);
  struct Place {
    size_t track;
    const TimelineSpan *span;
  };
  Place causeOf(const TimelineSpan &phase) const;

  JsonWriter &w;
  const LaunchReport &r;
  const Timeline &t;
  const uint64_t start, firstProcess;
  uint64_t &arrows;
  std::vector<uint64_t> rowsBefore; ///< thread of the first row of each track
};

void Writer::name(size_t track) {
  const TimelineTrack &one = t.tracks[track];
  const TimelineCta &cta = t.ctas[one.cta];
  auto label = [&](std::string_view what, uint32_t row,
                   const std::string &text) {
    event("M", what, track, row,
          [&] { w.object("args", [&] { w.member("name", text); }); });
  };
  if (!track || t.tracks[track - 1].cta != one.cta)
    label("process_name", 0,
          shortName(r.facts.kernel) + ", CTA (" + std::to_string(cta.id[0]) +
              "," + std::to_string(cta.id[1]) + "," +
              std::to_string(cta.id[2]) + ")");
  for (uint32_t row = 0; row < one.rows; ++row) {
    label("thread_name", row, one.name);
    event("M", "thread_sort_index", track, row, [&] {
      w.object("args",
               [&] { w.member("sort_index", rowsBefore[track] + row); });
    });
  }
}

void Writer::span(size_t track, const TimelineSpan &s) {
  const std::string &text = t.strings[s.text];
  event("X", text.empty() ? toString(s.kind) : text, track, s.row, [&] {
    w.member("cat", toString(s.kind));
    time("ts", at(s.begin));
    time("dur", at(s.end) - at(s.begin));
    w.object("args", [&] {
      w.member("cycles", s.end - s.begin);
      w.member("line", s.line);
      if (s.lastLine != s.line)
        w.member("last_line", s.lastLine);
      if (auto it = t.sources.find(s.line); it != t.sources.end())
        w.member("source", t.strings[it->second.file] + ":" +
                               std::to_string(it->second.line));
      if (s.bytes)
        w.member("bytes", s.bytes);
    });
  });
}

/// Writes an end of the last arrow, which is bound to the span at this time.
void Writer::flow(std::string_view phase, size_t track, uint32_t row,
                  uint64_t units) {
  event(phase, "mbarrier", track, row, [&] {
    w.member("cat", "mbarrier");
    w.member("id", arrows);
    w.member("bp", "e");
    time("ts", units);
  });
}

/// Returns the last span of a row that satisfies `isBefore`, which holds for
/// leading spans of the row only, or null.
template <class F>
static const TimelineSpan *lastOf(const TimelineTrack &track, uint32_t row,
                                  F isBefore) {
  auto next = std::partition_point(
      track.spans.begin(), track.spans.end(), [&](const TimelineSpan &s) {
        return s.row < row || (s.row == row && isBefore(s));
      });
  return next == track.spans.begin() || std::prev(next)->row != row
             ? nullptr
             : &*std::prev(next);
}

/// Returns the activity that ended a phase: an operation of the warp with the
/// last arrival that ended at that time, the warp if it runs, or else its last
/// operation.
Writer::Place Writer::causeOf(const TimelineSpan &phase) const {
  const TimelineTrack &warp = t.tracks[phase.issuer];
  Place found = {0, nullptr};
  for (size_t k = phase.issuer; k < t.tracks.size(); ++k)
    for (uint32_t row = 0; row < t.tracks[k].rows; ++row) {
      const TimelineTrack &track = t.tracks[k];
      if (track.kind != TrackKind::Engine || track.cta != warp.cta ||
          track.warp != warp.warp)
        continue;
      const TimelineSpan *s = lastOf(track, row, [&](const TimelineSpan &s) {
        return s.end <= phase.end;
      });
      if (s && (!found.span || s->end > found.span->end))
        found = {k, s};
    }
  if (found.span && found.span->end == phase.end)
    return found;
  for (uint32_t row = 0; row < warp.rows; ++row) {
    const TimelineSpan *s = lastOf(
        warp, row, [&](const TimelineSpan &s) { return s.begin < phase.end; });
    if (s && s->kind == SpanKind::Run && s->end >= phase.end)
      return {phase.issuer, s};
  }
  return found;
}

/// Writes an arrow from the cause of a phase's end to the phase, or from the
/// last phase before the end of a wait to the wait.
void Writer::arrow(size_t track, const TimelineSpan &s) {
  bool isWait = s.kind == SpanKind::WaitMbarrier;
  if (s.issuer == TimelineSpan::kNoTrack ||
      !(isWait || s.kind == SpanKind::Phase))
    return;
  Place from = isWait ? Place{s.issuer, lastOf(t.tracks[s.issuer], 0,
                                               [&](const TimelineSpan &phase) {
                                                 return phase.end <= s.end;
                                               })}
                      : causeOf(s);
  if (!from.span)
    return;
  ++arrows;
  flow("s", from.track, from.span->row,
       at(std::min(from.span->end, s.end)) - 1);
  flow("f", track, s.row, at(s.end) - 1);
}

void Writer::write() {
  rowsBefore = {1};
  for (const TimelineTrack &track : t.tracks)
    rowsBefore.push_back(rowsBefore.back() + track.rows);
  for (size_t k = 0; k < t.tracks.size(); ++k)
    name(k);
  for (size_t k = 0; k < t.tracks.size(); ++k)
    for (const TimelineSpan &s : t.tracks[k].spans) {
      span(k, s);
      arrow(k, s);
    }
  for (const TimelineMark &m : t.marks)
    event("i", t.strings[m.text], m.track, 0, [&] {
      w.member("cat", "finding");
      w.member("s", "t");
      time("ts", at(m.step));
    });
}

} // namespace

std::string mx::sim::timelineAsTrace(const LaunchFileResult &result) {
  JsonWriter w;
  uint64_t start = 0, processes = 1, arrows = 0;
  w.beginObject();
  w.member("displayTimeUnit", "ns");
  w.key("traceEvents");
  w.beginArray();
  for (const LaunchReport &r : result.reports) {
    if (!r.timeline || !r.time.mhz)
      continue;
    start += uint64_t(r.time.overheadMicroseconds * kUnits);
    Writer(w, r, start, processes, arrows).write();
    uint64_t cycles = std::max(r.time.cycles, r.timeline->steps);
    start += uint64_t(double(cycles) * kUnits / r.time.mhz);
    processes += r.timeline->ctas.size();
  }
  w.endArray();
  w.endObject();
  return w.text + "\n";
}
