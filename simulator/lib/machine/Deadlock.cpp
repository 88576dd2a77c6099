//===- Deadlock.cpp - Explanation of deadlocks ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports, for each instruction with waiting warps, the condition of the wait,
// the missing arrivals, and the warps that have arrived.
//===----------------------------------------------------------------------===//

#include "Limits.h"
#include "Machine.h"

#include "mxsim/tensor/Mbarrier.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

using namespace mx::sim;

static std::string ctaText(const Cta &cta) {
  std::string s = "CTA (" + std::to_string(cta.id.x) + "," +
                  std::to_string(cta.id.y) + "," + std::to_string(cta.id.z) +
                  ")";
  return s;
}

static std::string plural(uint64_t n, const char *what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// Returns the words polled by `g`, or null if `g` does not poll. A group that
/// sleeps between reads still polls.
static const PollLog *pollsOf(Warp &w, const Group &g) {
  bool mayPoll = g.wait == Wait::Word || (g.wait == Wait::Poll && !g.cta);
  if (!w.polls || !mayPoll)
    return nullptr;
  auto log = w.polls->find(g.mask);
  return log == w.polls->end() || log->second.reads.empty() ? nullptr
                                                            : &log->second;
}

/// Describes the wait condition of `g` as the predicate of a sentence.
std::string Machine::waitText(Warp &w, Group &g) {
  if (const PollLog *log = pollsOf(w, g))
    return "waits for a change of " + describePolls(w, *log);
  Wait wait = g.wait;
  // Treat a failed mbarrier test as a wait for the mbarrier.
  if (wait == Wait::Poll && g.cta)
    wait = Wait::Mbarrier;
  switch (wait) {
  case Wait::Mbarrier: {
    MbarrierState s = mbarrierState(g.cta->mbarriers[g.address].word);
    std::string t = "waits for phase parity " + std::to_string(g.ticket) +
                    " of the mbarrier at " + describeSharedOffset(g.address);
    t += ": " + std::to_string(s.expected - s.pending) + " of " +
         plural(s.expected, "arrival") + " received";
    if (s.tx > 0)
      t +=
          ", " + std::to_string(s.tx) + " expected bytes have not been written";
    else if (s.tx < 0)
      t += ", " + std::to_string(-int64_t(s.tx)) +
           " more bytes than expected have been written";
    auto it = g.cta->mbarriers.find(g.address);
    if (it == g.cta->mbarriers.end())
      return t;
    const Mbarrier &log = it->second;
    t += "; " + plural(log.phases, "phase") + " completed";
    if (log.arrivals.empty())
      t += ", no arrival in the current phase";
    else
      t += ", arrivals in the current phase:";
    unsigned shown = 0;
    for (const Mbarrier::Entry &e : log.arrivals) {
      if (shown++ == 4) {
        t += " and others";
        break;
      }
      t +=
          std::string(shown > 1 ? "," : "") + " warp " + std::to_string(e.warp);
      if (e.ctaRank != g.cta->rank)
        t += " of CTA rank " + std::to_string(e.ctaRank);
      t += " (line " + std::to_string(e.line) + ")";
    }
    return t;
  }
  case Wait::NamedBarrier: {
    NamedBarrier &b = w.cta->barriers[g.index];
    uint32_t expected = b.expectedWarps ? b.expectedWarps : w.cta->liveWarps;
    std::string t = "waits at barrier " + std::to_string(g.index) + ": " +
                    std::to_string(b.arrivedWarps) + " of " +
                    plural(expected, "warp") + " arrived (";
    bool isFirst = true;
    for (uint32_t k = 0; k < warpsPerCta; ++k)
      if (b.lanes[k]) {
        t += (isFirst ? "warp " : ", ") + std::to_string(k);
        if ((b.lanes[k] & w.cta->warps[k].live) != w.cta->warps[k].live)
          t += " with only some lanes";
        isFirst = false;
      }
    return t + ")";
  }
  case Wait::ClusterBarrier:
    return "waits at the cluster barrier: " +
           std::to_string(w.cta->cluster->arrivedThreads) + " of " +
           plural(w.cta->cluster->liveThreads, "live thread") + " arrived";
  case Wait::TensorAlloc:
    return "waits for " + plural(g.ticket, "column") +
           " of tensor memory that other CTAs of the SM hold";
  case Wait::PairAlloc:
    return "waits for the other CTA of the pair to execute tcgen05.alloc";
  case Wait::Collective: {
    char text[128];
    std::snprintf(text, sizeof text,
                  "waits for lanes 0x%08x of the warp to execute the same "
                  "instruction",
                  g.needed & w.live & ~g.ticket);
    return text;
  }
  case Wait::Word:
  case Wait::Poll:
    return "tests again and again without success";
  case Wait::BulkGroup:
  case Wait::CopyGroup:
    return "waits until at most " + plural(g.index, "group") + " of " +
           (wait == Wait::BulkGroup ? "bulk copies" : "cp.async") +
           " are pending";
  case Wait::Registers:
    return "waits for " + std::to_string(g.ticket) +
           " registers per thread: it needs " +
           std::to_string((g.ticket - w.registers) * 32) + " more, and " +
           std::to_string(w.cta->freeRegisters * 32) + " of the " +
           std::to_string(program.registersAtEntry * 32 * warpsPerCta) +
           " registers of the CTA are free";
  case Wait::Warpgroup:
    return "waits for the other warps of its warpgroup to execute the same "
           "wgmma.mma_async";
  case Wait::Turn:
    return "is about to access memory that clusters share";
  case Wait::Answer:
  case Wait::None:
    break;
  }
  return "could run";
}

/// Returns the situation of a group in a deadlock.
static Situation situationOf(const Group &g) {
  if (g.wait == Wait::NamedBarrier || g.wait == Wait::ClusterBarrier)
    return Situation::MissingWarps;
  if (g.wait == Wait::Registers)
    return Situation::MissingRegisters;
  if (g.wait == Wait::Word)
    return Situation::MissingWrite;
  bool isTest = g.wait == Wait::Poll && g.cta;
  if (g.wait != Wait::Mbarrier && !isTest)
    return Situation::None;
  MbarrierState s = mbarrierState(g.cta->mbarriers[g.address].word);
  if (s.pending == s.expected && !s.tx && g.cta->mbarriers[g.address].phases)
    return Situation::WrongPhase;
  return s.pending ? Situation::MissingArrivals : Situation::MissingBytes;
}

void Machine::reportDeadlock(std::string note) {
  reportPlaces(FindingKind::Deadlock, LaunchStatus::Deadlock, std::move(note));
}

/// Reports every waiting group, with one finding for each pair of instruction
/// and reason.
void Machine::reportPlaces(FindingKind kind, LaunchStatus status,
                           std::string note) {
  // Merges all warps and CTAs waiting at the same place.
  struct Place {
    Finding finding;
    uint64_t warps = 0, ctas = 0;
    const Cta *last = nullptr;
  };
  // Polls of different words are separate findings.
  std::map<std::tuple<unsigned, int, uint64_t>, Place> places;
  for (auto &c : active) {
    for (auto &cta : c->ctas) {
      for (Warp &w : cta->warps) {
        for (Group &g : w.groups) {
          const PollLog *polls = pollsOf(w, g);
          const InstrInfo &info = program.infoOf(g.pc);
          // After a barrier the position is already past the instruction.
          const InstrInfo &at = polls ? program.infoOf(polls->reads[0].instr)
                                : g.wait == Wait::NamedBarrier ||
                                        g.wait == Wait::PairAlloc ||
                                        g.wait == Wait::Poll
                                    ? program.infoOf(g.pc - 1)
                                    : info;
          uint64_t word =
              polls ? polls->reads.front().words.front().address : 0;
          Place &p = places[{at.line, int(g.wait), word}];
          ++p.warps;
          p.ctas += p.last != cta.get();
          p.last = cta.get();
          if (p.warps > 1)
            continue;
          Finding &f = p.finding;
          f.kind = kind;
          if (kind == FindingKind::Deadlock)
            f.situation = situationOf(g);
          f.module = module.name;
          f.message = ctaText(*cta) + " warp " + std::to_string(w.index) + " " +
                      waitText(w, g);
          f.ptxLine = at.line;
          f.source = sourceOf(at);
          f.hasCta = true;
          f.cta = cta->id;
          f.warp = w.index;
          f.lanes = g.wait == Wait::Collective ? g.ticket : g.mask;
          for (auto &o : c->observers)
            o->finding(f, g.step);
        }
      }
    }
  }
  report.status = std::min(report.status, status);
  for (auto &[key, p] : places) {
    p.finding.occurrences = p.warps;
    p.finding.ctas = p.ctas;
    if (p.warps > 1)
      p.finding.message += " (and " + plural(p.warps - 1, "more warp") +
                           " in " + plural(p.ctas, "CTA") + ")";
    p.finding.message += std::exchange(note, std::string());
    if (report.findings.size() < kMostUngrouped)
      report.findings.push_back(std::move(p.finding));
    else
      ++report.findingsDropped;
  }
}
