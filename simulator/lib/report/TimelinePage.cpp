//===- TimelinePage.cpp - a timeline as one file of HTML ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page, its style and its program lie in page/ and are built in; here the
// data is written into it as JSON. Spans are rows of numbers, as there may be
// 100000 of them.
//===----------------------------------------------------------------------===//

#include "mxsim/Report.h"

#include <nlohmann/json.hpp>

using namespace mx::sim;
using Json = nlohmann::ordered_json;

static constexpr const char pageText[] =
#include "TimelinePage.inc"
    ;

static int64_t number(uint64_t v) {
  return v == TimelineSpan::kNever ? -1 : int64_t(v);
}

static Json toJson(const TimelineSpan &s) {
  return Json::array(
      {s.begin, s.end, int64_t(s.kind), s.row, s.line, s.lastLine, s.text,
       number(s.issued),
       s.issuer == TimelineSpan::kNoTrack ? -1 : int64_t(s.issuer), s.bytes});
}

/// Rows of a line, how often warps executed it, and cycles in the order of
/// Spent.
static Json toJson(const std::vector<LineCost> &costs) {
  Json rows = Json::array();
  for (const LineCost &cost : costs) {
    if (!cost.line)
      continue;
    Json row = Json::array({cost.line, cost.executed});
    for (uint64_t cycles : cost.cycles)
      row.push_back(cycles);
    rows.push_back(std::move(row));
  }
  return rows;
}

static Json toJson(const TimelineTrack &track) {
  Json spans = Json::array();
  for (const TimelineSpan &s : track.spans)
    spans.push_back(toJson(s));
  return {{"kind", toString(track.kind)},
          {"name", track.name},
          {"cta", track.cta},
          {"warp", track.warp},
          {"rows", track.rows},
          {"spans", std::move(spans)}};
}

static Json toJson(const LaunchReport &r, size_t module) {
  const Timeline &t = *r.timeline;
  Json launch = {{"kernel", r.facts.kernel},
                 {"status", toString(r.status)},
                 {"module", module},
                 {"seed", r.facts.seed},
                 {"chip", r.time.chip},
                 {"steps", t.steps},
                 {"totalCtas", t.totalCtas},
                 {"spansDropped", t.spansDropped},
                 {"tracksDropped", t.tracksDropped},
                 {"ctas", Json::array()},
                 {"strings", t.strings},
                 {"tracks", Json::array()},
                 {"marks", Json::array()},
                 {"sources", Json::array()},
                 {"costs", toJson(r.time.lines)}};
  for (const TimelineCta &c : t.ctas)
    launch["ctas"].push_back(
        {{"id", c.id}, {"rank", c.rank}, {"cluster", c.cluster}});
  for (const TimelineTrack &track : t.tracks)
    launch["tracks"].push_back(toJson(track));
  for (const TimelineMark &m : t.marks)
    launch["marks"].push_back(Json::array({m.track, m.step, m.line, m.text}));
  for (const auto &[line, source] : t.sources)
    launch["sources"].push_back(Json::array({line, source.file, source.line}));
  return launch;
}

std::string mx::sim::timelineAsHtml(const LaunchFileResult &result) {
  Json data = {{"format", 1},
               {"kinds", Json::array()},
               {"spent", Json::array()},
               {"modules", Json::array()},
               {"launches", Json::array()}};
  for (unsigned k = 0; k < kNumSpanKinds; ++k)
    data["kinds"].push_back(toString(SpanKind(k)));
  for (unsigned k = 0; k < kSpent; ++k)
    data["spent"].push_back(infoOf(Spent(k)).column);
  std::vector<const Timeline *> modules;
  for (const LaunchReport &r : result.reports) {
    if (!r.timeline)
      continue;
    size_t k = 0;
    while (k < modules.size() && modules[k]->ptx != r.timeline->ptx)
      ++k;
    if (k == modules.size())
      modules.push_back(r.timeline.get());
    data["launches"].push_back(toJson(r, k));
  }
  for (const Timeline *t : modules)
    data["modules"].push_back({{"name", t->module}, {"ptx", t->ptx}});
  std::string text = data.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false,
                               Json::error_handler_t::replace);
  // Inside a script element only this character could end it.
  std::string escaped;
  escaped.reserve(text.size());
  for (char c : text) {
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
