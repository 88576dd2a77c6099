//===- Recording.cpp - Recorders of a launch ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selects the clusters to record and merges their results into the report.
//===----------------------------------------------------------------------===//

#include "../ptx/OpcodeClass.h"
#include "Groups.h"
#include "Recorder.h"

#include "../machine/Handlers.h"
#include "../time/Stopwatch.h"

#include <algorithm>

using namespace mx::sim;

Recording::Recording(Machine &machine) : machine(machine) {
  if (machine.config.profile)
    places = std::make_unique<Places>(machine.program);
}

void Recording::start(Cluster &c) {
  const LaunchConfig &config = machine.config;
  uint64_t size = machine.cluster.count();
  uint64_t traced = config.timelineCtas == LaunchConfig::kTwoClusters
                        ? 2
                        : (config.timelineCtas + size - 1) / size;
  bool hasTimeline = c.index < traced;
  if (!hasTimeline && !config.profile && !machine.timing)
    return;
  auto recorder = std::make_unique<Recorder>(
      machine, c, places.get(), hasTimeline,
      hasTimeline
          ? config.timelineSpans / std::min(traced, machine.numClusters())
          : 0,
      // Clusters of a shard share a thread.
      c.watch ? &c.watch->executed : nullptr);
  c.recorder = recorder.get();
  c.interpreter = recorder.get();
  for (auto &cta : c.ctas)
    for (Warp &w : cta->warps)
      w.trace = recorder.get();
  c.observers.push_back(std::move(recorder));
}

void Recording::add(const Recorder::Counts &counts) {
  executed.resize(std::max(executed.size(), counts.size()));
  for (size_t w = 0; w < counts.size(); ++w) {
    executed[w].resize(counts[w].size());
    for (size_t k = 0; k < executed[w].size(); ++k)
      executed[w][k] += counts[w][k];
  }
}

void Recording::take(Cluster &c) {
  if (!c.recorder)
    return;
  Recorder &r = *c.recorder;
  mmas.resize(r.mmas.size());
  failedTests.resize(r.failedTests.counts.size());
  add(r.own);
  for (size_t w = 0; w < mmas.size(); ++w) {
    for (auto &[shape, n] : r.mmas[w])
      mmas[w][shape] += n;
    failedTests[w].tests += r.failedTests.counts[w].tests;
    failedTests[w].instructions += r.failedTests.counts[w].instructions;
  }
  Timeline t;
  r.build(t);
  if (!t.ctas.empty())
    timelines[c.index] = std::move(t);
  c.recorder = nullptr;
  c.interpreter = nullptr;
  for (auto &cta : c.ctas)
    for (Warp &w : cta->warps)
      w.trace = nullptr;
}

/// Appends the timeline of a cluster and renumbers its CTAs, tracks and
/// strings.
static void append(Timeline &all, Timeline &&one) {
  uint32_t firstCta = uint32_t(all.ctas.size());
  uint32_t firstTrack = uint32_t(all.tracks.size());
  std::vector<uint32_t> text(one.strings.size());
  std::map<std::string, uint32_t> known;
  for (size_t k = 0; k < all.strings.size(); ++k)
    known[all.strings[k]] = uint32_t(k);
  for (size_t k = 0; k < text.size(); ++k) {
    auto [it, isNew] =
        known.emplace(one.strings[k], uint32_t(all.strings.size()));
    if (isNew)
      all.strings.push_back(one.strings[k]);
    text[k] = it->second;
  }
  all.ctas.insert(all.ctas.end(), one.ctas.begin(), one.ctas.end());
  for (TimelineTrack &track : one.tracks) {
    track.cta += firstCta;
    for (TimelineSpan &s : track.spans) {
      s.text = text[s.text];
      if (s.issuer != TimelineSpan::kNoTrack)
        s.issuer += firstTrack;
    }
    all.tracks.push_back(std::move(track));
  }
  for (TimelineMark m : one.marks) {
    m.track += firstTrack;
    m.text = text[m.text];
    all.marks.push_back(m);
  }
  all.steps = std::max(all.steps, one.steps);
  all.spansDropped += one.spansDropped;
  all.tracksDropped += one.tracksDropped;
}

void Recording::finish(LaunchReport &report) {
  groupFindings(report, machine.reported, machine.config.maxFindings);
  const Program &p = machine.program;
  if (machine.config.profile) {
    std::vector<WarpProfile> &profiles = report.statistics.profiles;
    profiles.resize(machine.warpsPerCta);
    for (size_t w = 0; w < executed.size(); ++w) {
      WarpProfile &profile = profiles[w];
      for (size_t k = 0; k < executed[w].size(); ++k) {
        uint64_t n = executed[w][k];
        if (!n || (*places)[&p.code[k]] == Places::Hidden)
          continue;
        const ptx::Instruction &source = *p.info[k].source;
        profile.classes[std::string(classOf(source))] += n;
        if (isOfText(source, machine.module.text))
          profile.lines[p.info[k].line] += n;
        if (isWarpMma(source))
          profile.mmas[source.text()] += n;
      }
      for (auto &[shape, n] : mmas[w])
        profile.mmas[shape] += n;
      profile.failedTests = failedTests[w].tests;
      profile.failedInstructions = failedTests[w].instructions;
    }
  }
  if (!machine.config.timelineCtas)
    return;
  auto all = std::make_shared<Timeline>();
  all->strings = {""};
  all->totalCtas = machine.config.grid.count();
  all->module = machine.module.name;
  all->ptx = machine.module.text;
  for (auto &[index, t] : timelines)
    append(*all, std::move(t));
  groupMarks(report, *all);
  std::map<std::string, uint32_t> files;
  for (const InstrInfo &info : p.info) {
    if (info.loc < 0 || !info.function || !info.source || !info.line)
      continue;
    if (!isOfText(*info.source, machine.module.text))
      continue;
    const ptx::SourceLocation &loc = info.function->locs[info.loc];
    auto file = machine.module.files.find(loc.file);
    if (file == machine.module.files.end() || !loc.line)
      continue;
    auto [it, isNew] =
        files.emplace(file->second, uint32_t(all->strings.size()));
    if (isNew)
      all->strings.push_back(file->second);
    all->sources[info.line] = {it->second, loc.line};
  }
  report.timeline = std::move(all);
}
