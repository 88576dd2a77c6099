//===- Facts.cpp - Keys and parts of figures ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FactTable.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace mx::sim;
using namespace mx::sim::time;

static constexpr PartInfo kPartInfos[] = {
    {"tensor", "tensor core"},
    {"issue", "issue"},
    {"results", "results"},
    {"shared", "shared memory"},
    {"copy", "copy engine"},
    {"l2", "L2"},
    {"hbm", "HBM"},
    {"barriers", "barriers"},
    {"launch", "start and tail"},
    {"other", "other"},
};
static_assert(std::size(kPartInfos) == kParts);

const PartInfo &mx::sim::time::infoOf(Part part) {
  return kPartInfos[unsigned(part)];
}

const FactInfo &mx::sim::time::infoOf(Fact fact) {
  return kFactInfos[unsigned(fact)];
}

Part mx::sim::time::partOf(Cause cause) {
  if (unsigned(cause) < kFacts)
    return infoOf(Fact(cause)).part;
  return cause == kOther ? Part::Other : Part::Issue;
}

const SourceInfo &mx::sim::time::infoOf(Source source) {
  static constexpr SourceInfo infos[] = {
      {Fact::SharedBytes, Fact::SharedLatency},
      {Fact::SharedBytes, Fact::L1Latency},
      {Fact::PortBytes, Fact::L2Latency},
      {Fact::L2Bytes, Fact::L2Latency},
      {Fact::HbmBytesPerNs, Fact::HbmLatency},
  };
  return infos[unsigned(source)];
}

Fact mx::sim::time::rateOf(const Chip &chip, Source source) {
  return source == Source::L2 && chip.has(Fact::L2BytesPerNs)
             ? Fact::L2BytesPerNs
             : infoOf(source).rate;
}

Way mx::sim::time::wayOf(const Figure &figure) {
  if (figure.unit == "cycles" || figure.unit == "us")
    return Way::Grows;
  return figure.unit.find('/') != figure.unit.npos ? Way::Falls : Way::Neither;
}

//===----------------------------------------------------------------------===//
// Overrides
//===----------------------------------------------------------------------===//

/// A rate at which work takes no time.
static constexpr double kNoLimit = 1e9;

static Figure *find(Chip &chip, std::string_view key) {
  for (const FactInfo &info : kFactInfos)
    if (info.key == key)
      return &chip.figures[unsigned(info.fact)];
  return nullptr;
}

bool mx::sim::time::hasFigure(const Chip &chip, std::string_view key) {
  return std::any_of(
      std::begin(kFactInfos), std::end(kFactInfos),
      [&](const FactInfo &i) { return i.key == key && chip.has(i.fact); });
}

Chip mx::sim::time::changed(const Chip &chip, const TimeChanges &changes) {
  Chip now = chip;
  for (const auto &[key, value] : changes.figures)
    if (Figure *figure = find(now, key))
      figure->value = figure->low = figure->high = value;
  for (const FactInfo &info : kFactInfos) {
    Figure &figure = now.figures[unsigned(info.fact)];
    if (infoOf(info.part).key != changes.without)
      continue;
    if (wayOf(figure) == Way::Grows)
      figure.value = figure.low = figure.high = 0;
    else if (wayOf(figure) == Way::Falls)
      figure.value = figure.low = figure.high = kNoLimit;
  }
  return now;
}

static std::string listOfKeys() {
  std::string all;
  for (const FactInfo &info : kFactInfos)
    if (info.fact != Fact::Multiprocessors)
      all += (all.empty() ? "" : ", ") + std::string(info.key);
  return all;
}

/// Largest accepted latency in cycles and rate per cycle.
static constexpr double kGreatest = 50000;

static bool parseNumber(std::string_view text, double &value) {
  const char *end = text.data() + text.size();
  auto [stop, why] = std::from_chars(text.data(), end, value);
  return why == std::errc() && stop == end && std::isfinite(value);
}

std::string mx::sim::setClock(TimeChanges &changes, std::string_view text) {
  double value = 0;
  if (text != "sustained" && !parseNumber(text, value))
    return "expected a number of MHz or sustained, found '" +
           std::string(text) + "'";
  std::string key(infoOf(Fact::BoostMHz).key);
  if (text != "sustained") {
    std::string why = setFigure(changes, key + "=" + std::string(text));
    changes.isSustained &= !why.empty();
    return why;
  }
  // The last option wins.
  auto &figures = changes.figures;
  figures.erase(std::remove_if(figures.begin(), figures.end(),
                               [&](auto &f) { return f.first == key; }),
                figures.end());
  changes.isSustained = true;
  return {};
}

std::string mx::sim::setFigure(TimeChanges &changes, std::string_view text) {
  size_t at = text.find('=');
  std::string key(text.substr(0, at));
  double value = 0;
  if (at == text.npos || !parseNumber(text.substr(at + 1), value))
    return "expected KEY=NUMBER, found '" + std::string(text) + "'";
  auto info = std::find_if(std::begin(kFactInfos), std::end(kFactInfos),
                           [&](const FactInfo &i) { return i.key == key; });
  if (info == std::end(kFactInfos) || info->fact == Fact::Multiprocessors)
    return "expected one of " + listOfKeys() + ", found '" + key + "'";
  // Units are the same for all chips, but a chip may lack a figure.
  Figure figure = {};
  for (std::string_view name : namesOfTimedChips())
    if (const Chip *chip = findChip(name); chip->has(info->fact))
      figure = chip->figures[unsigned(info->fact)];
  bool isLatency = wayOf(figure) == Way::Grows;
  if (value > kGreatest || value < 0 || (!isLatency && !(value >= 0.001)))
    return key + ": expected a number from " + (isLatency ? "0" : "0.001") +
           " to 50000" +
           (figure.unit.empty() ? "" : " " + std::string(figure.unit)) +
           ", found " + std::string(text.substr(at + 1));
  changes.figures.emplace_back(key, value);
  return {};
}

std::string mx::sim::setWithout(TimeChanges &changes, std::string_view part) {
  std::string all;
  for (unsigned k = 0; k < kParts; ++k) {
    if (Part(k) == Part::Other)
      continue;
    if (kPartInfos[k].key == part) {
      changes.without = part;
      return {};
    }
    all += (k ? ", " : "") + std::string(kPartInfos[k].key);
  }
  return "expected one of " + all + ", found '" + std::string(part) + "'";
}
