//===- TimelinePage.cpp - Timeline as a single HTML file ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The markup, style and script in page/ are compiled into the library. The data
// is inserted as JSON. A span is an array of numbers to keep pages with 100000
// spans small.
//===----------------------------------------------------------------------===//

#include "SourceFiles.h"

#include "mxsim/io/JsonWriter.h"

#include <set>

using namespace mx::sim;
using mx::JsonWriter;

static constexpr const char pageText[] =
#include "TimelinePage.inc"
    ;

static int64_t number(uint64_t v) {
  return v == TimelineSpan::kNever ? -1 : int64_t(v);
}

static void writeSpan(JsonWriter &json, const TimelineSpan &s) {
  json.row(std::array<int64_t, 10>{
      int64_t(s.begin), int64_t(s.end), int64_t(s.kind), s.row, s.line,
      s.lastLine, s.text, number(s.issued),
      s.issuer == TimelineSpan::kNoTrack ? -1 : int64_t(s.issuer),
      int64_t(s.bytes)});
}

static void writeTrack(JsonWriter &json, const TimelineTrack &track) {
  json.beginObject();
  json.member("kind", toString(track.kind));
  json.member("name", track.name);
  json.member("cta", track.cta);
  json.member("warp", track.warp);
  json.member("rows", track.rows);
  json.list("spans", track.spans,
            [&](const TimelineSpan &s) { writeSpan(json, s); });
  json.endObject();
}

static void writeLaunch(JsonWriter &json, const LaunchReport &r,
                        size_t module) {
  const Timeline &t = *r.timeline;
  json.beginObject();
  json.member("kernel", r.facts.kernel);
  json.member("status", toString(r.status));
  json.member("module", uint64_t(module));
  json.member("seed", r.facts.seed);
  json.member("steps", t.steps);
  json.member("totalCtas", t.totalCtas);
  json.member("spansDropped", t.spansDropped);
  json.member("tracksDropped", t.tracksDropped);
  json.list("ctas", t.ctas, [&](const TimelineCta &c) {
    json.line([&] {
      json.beginObject();
      json.row("id", c.id);
      json.member("rank", c.rank);
      json.member("cluster", c.cluster);
      json.endObject();
    });
  });
  json.row("strings", t.strings);
  json.list("tracks", t.tracks,
            [&](const TimelineTrack &track) { writeTrack(json, track); });
  json.list("marks", t.marks, [&](const TimelineMark &m) {
    json.row(std::array<uint64_t, 4>{m.track, m.step, m.line, m.text});
  });
  json.list("sources", t.sources, [&](const auto &entry) {
    const auto &[line, source] = entry;
    json.row(std::array<uint32_t, 3>{line, source.file, source.line});
  });
  json.endObject();
}

/// Writes the source files of .loc that can be read, up to 4 MiB.
static void writeFiles(JsonWriter &json, const LaunchFileResult &result) {
  size_t room = 4 << 20;
  std::set<std::string> names;
  for (const LaunchReport &r : result.reports)
    if (r.timeline)
      for (auto &[line, source] : r.timeline->sources)
        names.insert(r.timeline->strings[source.file]);
  json.list("files", names, [&](const std::string &name) {
    std::string text = readSource(result, name);
    if (text.empty() || text.size() > room)
      return;
    room -= text.size();
    json.object([&] {
      json.member("name", name);
      json.member("text", text);
    });
  });
}

std::string mx::sim::timelineAsHtml(const LaunchFileResult &result) {
  JsonWriter json;
  json.beginObject();
  json.member("format", 2);
  std::vector<std::string_view> kinds;
  for (unsigned k = 0; k < kNumSpanKinds; ++k)
    kinds.push_back(toString(SpanKind(k)));
  json.row("kinds", kinds);
  std::vector<const Timeline *> modules;
  json.key("launches");
  json.beginArray();
  for (const LaunchReport &r : result.reports) {
    if (!r.timeline)
      continue;
    size_t k = 0;
    while (k < modules.size() && modules[k]->ptx != r.timeline->ptx)
      ++k;
    if (k == modules.size())
      modules.push_back(r.timeline.get());
    writeLaunch(json, r, k);
  }
  json.endArray();
  json.list("modules", modules, [&](const Timeline *t) {
    json.beginObject();
    json.member("name", t->module);
    json.member("ptx", t->ptx);
    json.endObject();
  });
  writeFiles(json, result);
  json.endObject();
  // Escape the only character that can end a script element.
  std::string escaped;
  escaped.reserve(json.text.size());
  for (char c : json.text) {
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  }
  std::string page = pageText;
  constexpr std::string_view mark = "@DATA@";
  page.replace(page.find(mark), mark.size(), escaped);
  return page;
}
