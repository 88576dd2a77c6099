//===- TimelinePage.cpp - a timeline as one file of HTML ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page, its style and its program lie in page/ and are built in; here the
// data is written into it as JSON. Spans are rows of numbers, as there may be
// 100000 of them.
//===----------------------------------------------------------------------===//

#include "mxsim/Report.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mx::sim;
namespace json = llvm::json;

static constexpr const char pageText[] =
#include "TimelinePage.inc"
    ;

static std::string utf8(const std::string &text) {
  return llvm::json::isUTF8(text) ? text : llvm::json::fixUTF8(text);
}

static int64_t number(uint64_t v) {
  return v == TimelineSpan::kNever ? -1 : int64_t(v);
}

static void write(json::OStream &out, const TimelineSpan &s) {
  out.array([&] {
    out.value(int64_t(s.begin));
    out.value(int64_t(s.end));
    out.value(int64_t(s.kind));
    out.value(s.row);
    out.value(s.line);
    out.value(s.lastLine);
    out.value(s.text);
    out.value(number(s.issued));
    out.value(s.issuer == TimelineSpan::kNoTrack ? -1 : int64_t(s.issuer));
    out.value(int64_t(s.bytes));
  });
}

/// By line of this module: the line, how often warps executed it, and cycles in
/// the order of Spent.
static void write(json::OStream &out, const std::vector<LineCost> &costs) {
  out.attributeArray("costs", [&] {
    for (const LineCost &cost : costs)
      if (cost.line)
        out.array([&] {
          out.value(cost.line);
          out.value(cost.executed);
          for (uint64_t cycles : cost.cycles)
            out.value(cycles);
        });
  });
}

static void write(json::OStream &out, const LaunchReport &r, int64_t module) {
  const Timeline &t = *r.timeline;
  out.object([&] {
    out.attribute("kernel", utf8(r.facts.kernel));
    out.attribute("status", std::string(toString(r.status)));
    out.attribute("module", module);
    out.attribute("seed", r.facts.seed);
    out.attribute("chip", r.time.chip);
    out.attribute("steps", t.steps);
    out.attribute("totalCtas", t.totalCtas);
    out.attribute("spansDropped", t.spansDropped);
    out.attribute("tracksDropped", t.tracksDropped);
    out.attributeArray("ctas", [&] {
      for (const TimelineCta &c : t.ctas)
        out.object([&] {
          out.attributeArray("id", [&] {
            for (uint32_t v : c.id)
              out.value(v);
          });
          out.attribute("rank", c.rank);
          out.attribute("cluster", c.cluster);
        });
    });
    out.attributeArray("strings", [&] {
      for (const std::string &s : t.strings)
        out.value(utf8(s));
    });
    out.attributeArray("tracks", [&] {
      for (const TimelineTrack &track : t.tracks)
        out.object([&] {
          out.attribute("kind", toString(track.kind));
          out.attribute("name", utf8(track.name));
          out.attribute("cta", track.cta);
          out.attribute("warp", track.warp);
          out.attribute("rows", track.rows);
          out.attributeArray("spans", [&] {
            for (const TimelineSpan &s : track.spans)
              write(out, s);
          });
        });
    });
    out.attributeArray("marks", [&] {
      for (const TimelineMark &m : t.marks)
        out.array([&] {
          out.value(m.track);
          out.value(m.step);
          out.value(m.line);
          out.value(m.text);
        });
    });
    out.attributeArray("sources", [&] {
      for (const auto &entry : t.sources)
        out.array([&] {
          out.value(entry.first);
          out.value(entry.second.file);
          out.value(entry.second.line);
        });
    });
    write(out, r.time.lines);
  });
}

std::string mx::sim::timelineAsHtml(const LaunchFileResult &result) {
  std::vector<const Timeline *> modules;
  std::vector<std::pair<const LaunchReport *, int64_t>> launches;
  for (const LaunchReport &r : result.reports) {
    if (!r.timeline)
      continue;
    size_t k = 0;
    while (k < modules.size() && modules[k]->ptx != r.timeline->ptx)
      ++k;
    if (k == modules.size())
      modules.push_back(r.timeline.get());
    launches.emplace_back(&r, int64_t(k));
  }
  std::string data;
  llvm::raw_string_ostream stream(data);
  json::OStream out(stream);
  out.object([&] {
    out.attribute("format", 1);
    out.attributeArray("kinds", [&] {
      for (unsigned k = 0; k < kNumSpanKinds; ++k)
        out.value(toString(SpanKind(k)));
    });
    out.attributeArray("spent", [&] {
      for (unsigned k = 0; k < kSpent; ++k)
        out.value(std::string(infoOf(Spent(k)).column));
    });
    out.attributeArray("modules", [&] {
      for (const Timeline *t : modules)
        out.object([&] {
          out.attribute("name", utf8(t->module));
          out.attribute("ptx", utf8(t->ptx));
        });
    });
    out.attributeArray("launches", [&] {
      for (auto &[report, module] : launches)
        write(out, *report, module);
    });
  });
  // Inside a script element only this character could end it.
  std::string escaped;
  escaped.reserve(data.size());
  for (char c : data) {
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
