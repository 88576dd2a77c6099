//===- World.cpp - Devices with concurrent kernels ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machines of the devices run in turn, one pass each. If no device can
// progress, the world delivers late stores, and then lets timed waits expire.
// If neither helps, the world is deadlocked.
//===----------------------------------------------------------------------===//

#include "mxsim/World.h"

#include "Launch.h"
#include "machine/Limits.h"
#include "machine/WorldState.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

using namespace mx::sim;

struct World::Impl {
  /// Launch or host operation in a stream.
  struct Step {
    Module *module = nullptr;
    LaunchConfig config;
    std::function<void()> call;
  };
  struct Stream {
    Stream(const WorldConfig &config, unsigned number, WorldState &world)
        : memory(config.capacity, number), device(world, number) {}

    DeviceMemory memory;
    WorldDevice device;
    std::deque<Step> steps;
    std::deque<LaunchReport> reports; ///< launches that have started
    std::unique_ptr<Launch> running;

    /// Complete except for stores in flight.
    bool isEnding = false;

    bool isOver() const { return !running && steps.empty(); }
    bool hasLateStores() const { return device.late && !device.late->empty(); }
    /// Starts the next launch if none runs. Returns false if the start fails.
    bool beginNext();
    void endLaunch();
  };

  explicit Impl(const WorldConfig &config);

  WorldConfig config;
  WorldState state;
  std::vector<std::unique_ptr<Stream>> streams;
  Random random;
  bool stopped = false;

  /// Returns lists of devices for a round. All devices of a list run a pass.
  /// The next list runs only if no device of the previous list progresses.
  std::vector<std::vector<unsigned>> nextRound();
  /// Runs one pass of a device. Returns true on progress.
  bool pass(Stream &s);
  bool runRound();
  /// Releases late stores or waits, or reports a deadlock. Called if no device
  /// can progress.
  void dealWithIdleness();
  void advanceTime();
  void letArrive(Stream &s);
  /// Delivers some late stores of each device. Returns true if there were any.
  bool arriveInIdleness();
  void run();
  void stop(bool isDeadlock);

  // Attempts since the last progress.
  std::set<uint64_t> seen; ///< hashes of states
  uint64_t jump = 0;       ///< advance of time
  unsigned arrivals = 0;
};

bool World::Impl::Stream::beginNext() {
  while (!running && !steps.empty()) {
    Step &step = steps.front();
    if (step.call) {
      step.call();
      steps.pop_front();
      continue;
    }
    LaunchReport &report = reports.emplace_back();
    running = std::make_unique<Launch>(*step.module, memory, step.config,
                                       report, &device);
    Machine *machine = running->machine();
    if (!machine || !machine->begin()) {
      running.reset();
      return false;
    }
  }
  return true;
}

void World::Impl::Stream::endLaunch() {
  running->machine()->finish();
  running.reset();
  steps.pop_front();
  isEnding = false;
}

World::Impl::Impl(const WorldConfig &config)
    : config(config), random(config.seed) {
  std::vector<DeviceMemory *> memories;
  for (unsigned k = 0; k < config.devices; ++k) {
    streams.push_back(std::make_unique<Stream>(config, k, state));
    memories.push_back(&streams.back()->memory);
    if (config.isWeak && config.devices > 1)
      streams.back()->device.late =
          std::make_unique<LateStores>(streams.back()->memory, state.published);
  }
  DeviceMemory::connect(memories);
}

std::vector<std::vector<unsigned>> World::Impl::nextRound() {
  std::vector<unsigned> all;
  for (unsigned k = 0; k < streams.size(); ++k)
    all.push_back(k);
  if (!config.seed)
    return {all};
  for (size_t k = all.size(); k > 1; --k)
    std::swap(all[k - 1], all[random.below(uint32_t(k))]);
  // A quarter of the seeds run the chosen device only if no other can run.
  // Another quarter run the others only if the chosen device cannot run.
  unsigned chosen = config.seed / 4 % streams.size();
  std::vector<unsigned> others;
  for (unsigned k : all)
    if (k != chosen)
      others.push_back(k);
  switch (config.seed % 4) {
  case 1:
    return {others, {chosen}};
  case 2:
    return {{chosen}, others};
  }
  return {all};
}

bool World::Impl::pass(Stream &s) {
  if (s.isEnding) {
    letArrive(s);
    if (s.hasLateStores())
      return false;
    s.endLaunch();
  }
  size_t before = s.steps.size();
  if (!s.beginNext()) {
    stopped = true;
    return false;
  }
  if (!s.running)
    return s.steps.size() != before;
  uint64_t quantum = kQuantum;
  if (config.seed)
    quantum >>= random.below(10);
  Machine &machine = *s.running->machine();
  Machine::Pass last = machine.pass(quantum);
  letArrive(s);
  if (last != Machine::Pass::Ended)
    return last == Machine::Pass::Progress;
  stopped |= machine.stopped;
  s.isEnding = true;
  return true;
}

/// Delivers some late stores to other devices at random. The rest arrives when
/// the world is idle.
void World::Impl::letArrive(Stream &s) {
  static constexpr uint32_t chances[] = {0, 2, 8};
  uint32_t n = config.seed ? chances[(config.seed + s.device.number) % 3] : 0;
  if (n && s.device.late)
    s.device.late->arriveByChance(n, random);
}

bool World::Impl::arriveInIdleness() {
  bool any = false;
  for (auto &s : streams)
    if (s->hasLateStores()) {
      s->device.late->arrive(1ull << std::min(arrivals, 16u),
                             config.seed ? &random : nullptr);
      any = true;
    }
  ++arrivals;
  return any;
}

bool World::Impl::runRound() {
  for (const std::vector<unsigned> &list : nextRound()) {
    bool progress = false;
    for (unsigned k : list)
      if (!stopped)
        progress |= pass(*streams[k]);
    if (progress || stopped)
      return true;
  }
  return false;
}

void World::Impl::stop(bool isDeadlock) {
  stopped = true;
  std::string ended;
  for (auto &s : streams)
    if (s->isOver())
      ended += (ended.empty() ? "" : ", ") + std::to_string(s->device.number);
  if (!ended.empty())
    ended = "; all launches of these devices have ended: " + ended;
  for (auto &s : streams)
    if (s->running) {
      if (isDeadlock)
        s->running->machine()->reportDeadlock(std::exchange(ended, {}));
      if (s->hasLateStores())
        s->device.late->arriveAll(nullptr);
      s->endLaunch();
    }
}

/// Expires timed waits in an idle world. Their limits are unknown, so time
/// advances in doubling steps.
void World::Impl::advanceTime() {
  jump = jump ? jump * 2 : 1024;
  state.time += jump;
}

void World::Impl::dealWithIdleness() {
  constexpr size_t kMostStates = 64;
  constexpr uint64_t kLongestJump = 1ull << 46; // 20 hours
  if (arriveInIdleness())
    return seen.clear();
  bool isReleased = false;
  uint64_t hash = 0;
  for (auto &s : streams)
    if (s->running) {
      Machine &machine = *s->running->machine();
      machine.setTimeouts(true);
      isReleased |= machine.breakConvergence();
      hash = hash * 0x9e3779b97f4a7c15ull + machine.stateHash();
    }
  if (isReleased)
    return seen.clear();
  // Lanes that count their attempts never repeat a state.
  if (seen.insert(hash).second) {
    state.parks = seen.size() < kMostStates;
    return;
  }
  seen.clear();
  bool readsTime = false;
  for (auto &s : streams)
    readsTime |= s->running && s->running->machine()->takeReadsTime();
  if (readsTime && jump < kLongestJump)
    advanceTime();
  else
    stop(/*isDeadlock=*/true);
}

void World::Impl::run() {
  auto isOver = [&] {
    return std::all_of(streams.begin(), streams.end(),
                       [](auto &s) { return s->isOver(); });
  };
  while (!stopped && !isOver()) {
    if (!runRound()) {
      dealWithIdleness();
      continue;
    }
    seen.clear();
    jump = 0;
    arrivals = 0;
    state.parks = true;
    for (auto &s : streams)
      if (s->running)
        s->running->machine()->setTimeouts(false);
  }
  stop(/*isDeadlock=*/false);
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

World::World(const WorldConfig &config) : self(new Impl(config)) {}
World::~World() = default;

unsigned World::devices() const { return unsigned(self->streams.size()); }

DeviceMemory &World::memory(unsigned device) {
  return self->streams[device]->memory;
}

void World::launch(unsigned device, Module &module, LaunchConfig config) {
  Impl::Step step;
  step.module = &module;
  step.config = std::move(config);
  self->streams[device]->steps.push_back(std::move(step));
}

void World::call(unsigned device, std::function<void()> call) {
  Impl::Step step;
  step.call = std::move(call);
  self->streams[device]->steps.push_back(std::move(step));
}

std::vector<LaunchReport> World::run() {
  self->run();
  std::vector<LaunchReport> reports;
  for (auto &s : self->streams) {
    for (LaunchReport &r : s->reports) {
      for (Finding &f : r.findings)
        f.device = int(s->device.number);
      reports.push_back(std::move(r));
    }
    s->reports.clear();
    s->steps.clear();
  }
  return reports;
}
