//===- Facts.cpp - Keys and parts of figures ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Facts.h"

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

static constexpr FactInfo kFactInfos[] = {
    {Fact::Multiprocessors, "sms", Part::Other},
    {Fact::BoostMHz, "clock", Part::Other},
    {Fact::TensorMHz, "tensor-clock", Part::Other},
    {Fact::TensorBusyMHz, "tensor-clock-drop", Part::Other},
    {Fact::TensorBusyTime, "tensor-clock-time", Part::Other},
    {Fact::LaunchOverhead, "launch", Part::Launch},
    {Fact::KernelStart, "kernel-start", Part::Launch},
    {Fact::CtaStart, "cta-start", Part::Launch},
    {Fact::CtaIssue, "cta-issue", Part::Launch},
    {Fact::CtaEnd, "cta-end", Part::Launch},
    {Fact::CtaGive, "cta-give", Part::Launch},
    {Fact::MemoryEnd, "memory-end", Part::Launch},
    {Fact::AluLatency, "alu-latency", Part::Results},
    {Fact::PredicateLatency, "predicate-latency", Part::Results},
    {Fact::FloatLatency, "float-latency", Part::Results},
    {Fact::SpecialLatency, "special-latency", Part::Results},
    {Fact::WarpLatency, "warp-latency", Part::Results},
    {Fact::ReduxLatency, "redux-latency", Part::Results},
    {Fact::MatchLatency, "match-latency", Part::Results},
    {Fact::ConstantLatency, "constant-latency", Part::Results},
    {Fact::ConstantMiss, "constant-miss", Part::Results},
    {Fact::BranchTaken, "branch-taken", Part::Issue},
    {Fact::BranchLate, "branch-late", Part::Issue},
    {Fact::HighProduct, "high-product", Part::Issue},
    {Fact::Yield, "yield", Part::Issue},
    {Fact::SharedBytes, "shared-bytes", Part::Shared},
    {Fact::SharedLatency, "shared-latency", Part::Shared},
    {Fact::AtomicLatency, "atomic-latency", Part::Shared},
    {Fact::SharedQueue, "shared-queue", Part::Other},
    {Fact::L1Bytes, "l1-size", Part::Shared},
    {Fact::L1Latency, "l1-latency", Part::Shared},
    {Fact::WgmmaColumns, "wgmma-columns", Part::Tensor},
    {Fact::WgmmaSharedLeast, "wgmma-shared-least", Part::Tensor},
    {Fact::WgmmaSharedColumns, "wgmma-shared-columns", Part::Tensor},
    {Fact::WgmmaRegistersLeast, "wgmma-registers-least", Part::Tensor},
    {Fact::WgmmaLatency, "wgmma-latency", Part::Tensor},
    {Fact::WgmmaLatencyColumns, "wgmma-latency-columns", Part::Tensor},
    {Fact::WgmmaRegistersColumns, "wgmma-registers-columns", Part::Tensor},
    {Fact::WgmmaLatencyLate, "wgmma-latency-late", Part::Tensor},
    {Fact::WgmmaSlots, "wgmma-slots", Part::Issue},
    {Fact::WgmmaRegistersSlots, "wgmma-registers-slots", Part::Issue},
    {Fact::WgmmaRegistersRead, "wgmma-registers-read", Part::Issue},
    {Fact::WgmmaStart, "wgmma-start", Part::Issue},
    {Fact::WgmmaStartShare, "wgmma-start-share", Part::Issue},
    {Fact::WgmmaTurn, "wgmma-turn", Part::Tensor},
    {Fact::MmaSyncProducts, "mma-sync-products", Part::Tensor},
    {Fact::MmaSyncLatency, "mma-sync-latency", Part::Tensor},
    {Fact::CopyGive, "copy-give", Part::Copy},
    {Fact::CopyIssue, "copy-issue", Part::Copy},
    {Fact::CopyMap, "copy-map", Part::Copy},
    {Fact::CopyBytes, "copy-bytes", Part::Copy},
    {Fact::CopyPlainBytes, "copy-plain-bytes", Part::Copy},
    {Fact::CopyRow, "copy-row", Part::Copy},
    {Fact::CopyStoreBytes, "copy-store-bytes", Part::Copy},
    {Fact::CopyAddBytes, "copy-add-bytes", Part::Copy},
    {Fact::CopyLatency, "copy-l2-latency", Part::L2},
    {Fact::CopyHbmLatency, "copy-hbm-latency", Part::Hbm},
    {Fact::CopyHbmCost, "copy-hbm-cost", Part::Hbm},
    {Fact::CopyMapChanged, "copy-map-changed", Part::Copy},
    {Fact::PortBytes, "l2-port-bytes", Part::L2},
    {Fact::PortLoadBytes, "l2-port-load-bytes", Part::L2},
    {Fact::L2Bytes, "l2-bytes", Part::L2},
    {Fact::L2LoadBytes, "l2-load-bytes", Part::L2},
    {Fact::L2WriteBytes, "l2-write-bytes", Part::L2},
    {Fact::L2StoreBytes, "l2-store-bytes", Part::L2},
    {Fact::L2WriteLines, "l2-write-lines", Part::L2},
    {Fact::L2Window, "l2-window", Part::Other},
    {Fact::Gpcs, "gpcs", Part::Other},
    {Fact::L2Capacity, "l2-size", Part::L2},
    {Fact::L2Parts, "l2-parts", Part::Other},
    {Fact::L2Latency, "l2-latency", Part::L2},
    {Fact::L2Spread, "l2-spread", Part::L2},
    {Fact::HbmBytesPerNs, "hbm-bytes", Part::Hbm},
    {Fact::HbmLatency, "hbm-latency", Part::Hbm},
    {Fact::HbmSpread, "hbm-spread", Part::Hbm},
    {Fact::HbmChannels, "hbm-channels", Part::Other},
    {Fact::HbmChannelBytes, "hbm-channel-bytes", Part::Other},
    {Fact::MbarrierTest, "mbarrier-test", Part::Barriers},
    {Fact::MbarrierArrive, "mbarrier-arrive", Part::Barriers},
    {Fact::MbarrierWoken, "mbarrier-woken", Part::Barriers},
    {Fact::BarrierBase, "barrier", Part::Barriers},
    {Fact::BarrierWarp, "barrier-warp", Part::Barriers},
    {Fact::ClusterBarrier, "cluster-barrier", Part::Barriers},
    {Fact::ClusterBarrierCta, "cluster-barrier-cta", Part::Barriers},
    {Fact::ClusterArrive, "cluster-arrive", Part::Barriers},
    {Fact::FenceDevice, "fence-device", Part::Barriers},
    {Fact::TcgenColumns, "tcgen-columns", Part::Tensor},
    {Fact::TcgenReadBytes, "tcgen-read-bytes", Part::Tensor},
    {Fact::TcgenPairRead, "tcgen-pair-read", Part::Tensor},
    {Fact::TcgenLeast, "tcgen-least", Part::Tensor},
    {Fact::TcgenLatency, "tcgen-latency", Part::Tensor},
    {Fact::TcgenPairLatency, "tcgen-pair-latency", Part::Tensor},
    {Fact::TcgenQueue, "tcgen-queue", Part::Tensor},
    {Fact::TcgenCommit, "tcgen-commit", Part::Barriers},
    {Fact::TcgenCopy, "tcgen-copy", Part::Tensor},
    {Fact::TcgenCopyLatency, "tcgen-copy-latency", Part::Tensor},
    {Fact::TmemLoad, "tmem-load", Part::Results},
    {Fact::TmemLoadLatency, "tmem-load-latency", Part::Results},
    {Fact::TmemStore, "tmem-store", Part::Results},
    {Fact::TmemStoreLatency, "tmem-store-latency", Part::Results},
    {Fact::TmemAlloc, "tmem-alloc", Part::Launch},
    {Fact::L2BytesPerNs, "l2-bytes-per-ns", Part::L2},
    {Fact::L2FarLatency, "l2-far-latency", Part::L2},
    {Fact::LaunchControl, "launch-control", Part::Launch},
    {Fact::MbarrierLimit, "mbarrier-limit", Part::Barriers},
};
static_assert(std::size(kFactInfos) == kFacts, "a row for each Fact");
static_assert(
    [] {
      for (unsigned k = 0; k < kFacts; ++k)
        if (unsigned(kFactInfos[k].fact) != k)
          return false;
      return true;
    }(),
    "rows in the order of Fact");

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
