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

/// Writes the events of a launch, which begins at `start`.
struct Writer {
  JsonWriter &w;
  const LaunchReport &r;
  const Timeline &t;
  const uint64_t start, firstProcess;
  uint64_t &arrows;

  struct Place {
    size_t track;
    const TimelineSpan *span;
  };
  using Places = std::map<std::pair<size_t, uint64_t>, Place>;
  std::vector<uint64_t> threads = {1}; ///< of the first row of each track
  Places runs = {};                    ///< by track and end
  Places finished = {}; ///< operations by warp and end, phases by track and end

  uint64_t at(uint64_t cycle) const {
    return start + uint64_t(std::llround(double(cycle) * kUnits / r.time.mhz));
  }
  /// Writes an event of a row of a track with the members of `more`.
  template <class F>
  void event(std::string_view phase, std::string_view name, size_t track,
             uint32_t row, F more) {
    w.line([&] {
      w.object([&] {
        w.member("ph", phase);
        w.member("name", name);
        w.member("pid", firstProcess + t.tracks[track].cta);
        w.member("tid", threads[track] + row);
        more();
      });
    });
  }
  void time(std::string_view key, uint64_t units) {
    w.member(key, JsonWriter::Decimal{units, 4});
  }
  template <class T>
  void setting(std::string_view name, std::string_view key, size_t track,
               uint32_t row, const T &value) {
    event("M", name, track, row,
          [&] { w.object("args", [&] { w.member(key, value); }); });
  }

  void name(size_t track) {
    const TimelineTrack &one = t.tracks[track];
    auto &id = t.ctas[one.cta].id;
    if (!track || t.tracks[track - 1].cta != one.cta)
      setting("process_name", "name", track, 0,
              shortName(r.facts.kernel) + ", CTA (" + std::to_string(id[0]) +
                  "," + std::to_string(id[1]) + "," + std::to_string(id[2]) +
                  ")");
    for (uint32_t row = 0; row < one.rows; ++row) {
      setting("thread_name", "name", track, row, one.name);
      setting("thread_sort_index", "sort_index", track, row,
              threads[track] + row);
    }
  }

  void span(size_t track, const TimelineSpan &s) {
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

  /// Writes an arrow to a wait from the last phase before its end, or to a
  /// phase from the cause of its end: the last operation of the warp that
  /// arrived last, or the warp itself if it runs and no operation ends with the
  /// phase.
  void arrow(size_t track, const TimelineSpan &s) {
    bool isWait = s.kind == SpanKind::WaitMbarrier;
    if (s.issuer == TimelineSpan::kNoTrack ||
        !(isWait || s.kind == SpanKind::Phase))
      return;
    const Place *from = nullptr;
    if (auto it = finished.upper_bound({s.issuer, s.end});
        it != finished.begin() && (--it)->first.first == s.issuer)
      from = &it->second;
    if (!isWait && (!from || from->span->end != s.end))
      if (auto it = runs.lower_bound({s.issuer, s.end});
          it != runs.end() && it->first.first == s.issuer &&
          it->second.span->begin < s.end)
        from = &it->second;
    if (!from)
      return;
    ++arrows;
    // An end of an arrow is bound to the span at its time.
    auto end = [&](std::string_view phase, size_t on, uint32_t row,
                   uint64_t cycle) {
      event(phase, "mbarrier", on, row, [&] {
        w.member("cat", "mbarrier");
        w.member("id", arrows);
        w.member("bp", "e");
        time("ts", at(cycle) - 1);
      });
    };
    end("s", from->track, from->span->row, std::min(from->span->end, s.end));
    end("f", track, s.row, s.end);
  }

  void write() {
    for (size_t k = 0; k < t.tracks.size(); ++k) {
      threads.push_back(threads.back() + t.tracks[k].rows);
      name(k);
      for (const TimelineSpan &s : t.tracks[k].spans)
        if (s.kind == SpanKind::Run)
          runs[{k, s.end}] = {k, &s};
        else if (s.kind == SpanKind::Phase)
          finished[{k, s.end}] = {k, &s};
        else if (t.tracks[k].kind == TrackKind::Engine)
          finished[{s.issuer, s.end}] = {k, &s};
    }
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
};

} // namespace

std::string mx::sim::timelineAsTrace(const LaunchFileResult &result) {
  JsonWriter w;
  uint64_t start = 0, processes = 1, arrows = 0;
  w.beginObject();
  w.member("displayTimeUnit", "ns");
  w.list("traceEvents", result.reports, [&](const LaunchReport &r) {
    if (!r.timeline || !r.time.mhz)
      return;
    start += uint64_t(r.time.overheadMicroseconds * kUnits);
    Writer{w, r, *r.timeline, start, processes, arrows}.write();
    uint64_t cycles = std::max(r.time.cycles, r.timeline->steps);
    start += uint64_t(double(cycles) * kUnits / r.time.mhz);
    processes += r.timeline->ctas.size();
  });
  w.endObject();
  return w.text + "\n";
}
