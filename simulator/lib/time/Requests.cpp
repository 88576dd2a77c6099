//===- Requests.cpp - Requests to L2 and HBM ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SMs share L2 and HBM, so the requests of a window are answered in time order
// at the end of the window. No response arrives within the window. Before the
// answer, an operation has no completion time, and a reader of a loaded
// register waits.
//===----------------------------------------------------------------------===//

#include "Stopwatch.h"

#include <algorithm>
#include <utility>

using namespace mx::sim;
using namespace mx::sim::time;

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

Stopwatch::Request &Stopwatch::newRequest(Warp &w, uint64_t cycle,
                                          const Path &path) {
  if (requestCount == requests.size())
    requests.emplace_back();
  Request &r = requests[requestCount++];
  r.cycle = cycle;
  r.number = numbers++;
  r.warp = &w;
  r.path = path;
  r.load = kNone;
  ++w.openRequests;
  w.lastRequest = std::max(w.lastRequest, cycle);
  return r;
}

/// Passes a request through L2 and HBM. Copies the paths of the response, so
/// that this shard owns them.
Memory::Times Stopwatch::pass(Warp &w, uint64_t cycle, const Path &path,
                              const std::vector<Piece> &pieces,
                              Traffic traffic) {
  Memory::Times times;
  times.hits = cycle;
  times.hitsPath = path;
  if (!pieces.empty())
    times = model.memory.pass(w.cta->sm, cycle, path, pieces, traffic);
  times.hitsPath.separate();
  times.missesPath.separate();
  times.underWayPath.separate();
  return times;
}

void Stopwatch::ask(Warp &w, uint64_t cycle, const Path &path,
                    std::vector<Piece> &&pieces, Traffic traffic, Then then) {
  if (hasTurn) {
    Memory::Times times = pass(w, cycle, path, pieces, traffic);
    return then(times);
  }
  Request &r = newRequest(w, cycle, path);
  r.traffic = traffic;
  r.pieces = std::move(pieces);
  r.then = std::move(then);
  asked = uint32_t(requestCount - 1);
}

void Stopwatch::afterRequests(Warp &w, uint64_t from,
                              std::function<void()> then) {
  if (!w.openRequests)
    return then();
  ask(w, std::max(from, w.lastRequest), w.group().path, {}, Traffic::Load,
      [then = std::move(then)](Memory::Times &) { then(); });
}

void Stopwatch::answer(Request &r) {
  Warp &w = *r.warp;
  now = r.cycle;
  --w.openRequests;
  Memory::Times times = pass(w, r.cycle, r.path, r.pieces, r.traffic);
  r.path = {};
  if (r.load != kNone) {
    Load &load = loads[r.load];
    load.latest = std::max(load.latest, arrivalOf(w, times));
    if (!--load.open)
      fill(w, r.load);
  }
  if (!r.then)
    return;
  r.then(times);
  r.then = nullptr;
  for (uint32_t at : r.operations) {
    operations[at].path = completionPath;
    events.push({std::max(completion, r.cycle), numbers++, nullptr, at});
  }
  r.operations.clear();
}

//===----------------------------------------------------------------------===//
// Accesses of threads
//===----------------------------------------------------------------------===//

/// Returns the arrival of data that leaves its source at `cycle`.
Moment Stopwatch::arrivalOf(Warp &w, uint64_t cycle, Source source,
                            const Path &path) {
  cycle += chip.cycles(infoOf(source).latency);
  return Moment(cycle, source, w.requests->add(path));
}

/// Returns the arrival of the last data of a response.
Moment Stopwatch::arrivalOf(Warp &w, Memory::Times &times) {
  Moment latest =
      arrivalOf(w, times.hits + times.far, times.hitsSource, times.hitsPath);
  if (times.misses)
    latest = std::max(
        latest, arrivalOf(w, times.misses, Source::Hbm, times.missesPath));
  if (times.underWay)
    latest = std::max(
        latest, arrivalOf(w, times.underWay, Source::Hbm, times.underWayPath));
  return latest;
}

/// Requests `pieces` from L2 for the running instruction.
void Stopwatch::askForThreads(Warp &w, uint64_t cycle, const Path &path,
                              Traffic traffic) {
  if (hasTurn) {
    Memory::Times times = pass(w, cycle, path, pieces, traffic);
    arrival = std::max(arrival, arrivalOf(w, times));
    return;
  }
  Request &r = newRequest(w, cycle, path);
  r.traffic = traffic;
  r.pieces.swap(pieces);
  if (registers.writes(placeOf(current)).empty())
    return; // nothing waits for the answer
  if (running == kNone) {
    running = uint32_t(loads.size());
    if (freeLoads.empty()) {
      loads.emplace_back();
    } else {
      running = freeLoads.back();
      freeLoads.pop_back();
    }
    loads[running] = {};
  }
  ++loads[running].open;
  r.load = running;
}

/// Returns the moment at which all results of the running instruction are
/// available; open while requests are unanswered. `known`: latest known
/// arrival.
Moment Stopwatch::openMoment(Moment known, const Instr *i) {
  if (running == kNone)
    return known;
  loads[running].at = i;
  loads[running].latest = std::max(loads[running].latest, known);
  return Moment::open(std::exchange(running, kNone));
}

/// Completes a load. A waiting group resumes at the same instruction, because
/// ptxas may have placed later code before the wait.
void Stopwatch::fill(Warp &w, uint32_t number) {
  const Load load = loads[number];
  freeLoads.push_back(number);
  w.ready.fill(registers.writes(placeOf(load.at)), Moment::open(number),
               load.latest);
  for (Group &g : w.groups)
    if (g.wait == Wait::Answer) {
      g.wait = Wait::None;
      schedule(w, g.step);
    }
}
