//===- RunRanks.cpp - Execution with one or several ranks -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank is a thread and cannot be stopped from outside. If a rank fails
// and another rank continues to compute, the process exits.
//===----------------------------------------------------------------------===//

#include "Run.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/IR/Place.h"
#include "mxsim/io/Notices.h"
#include <cstdlib>
#include <sstream>
#include <thread>

using namespace mlir;
using namespace mx;

using Arrays = std::vector<NpyArray>;

static constexpr llvm::StringLiteral kRankName = "{rank}";
/// Longest time-out in seconds.
static constexpr double kLongestTimeout = 1e6;
/// Time in which the other ranks must end after a failure.
static constexpr std::chrono::seconds kTimeToEnd(2);

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

RunOptions mx::getOptionsOfRank(const RunOptions &options, int rank) {
  RunOptions own = options;
  std::string number = std::to_string(rank);
  for (std::vector<std::string> *names : {&own.argumentFiles, &own.resultFiles})
    for (std::string &name : *names)
      for (size_t at; (at = name.find(kRankName.data())) != name.npos;)
        name.replace(at, kRankName.size(), number);
  return own;
}

llvm::Error mx::checkRanks(ModuleOp module, const RunOptions &options) {
  bool hasGroup = false;
  for (auto group : module.getOps<RankGroupOp>()) {
    int64_t size = group.getSize();
    if (size != 1 && size != options.ranks)
      return makeError(getPlace(group.getLoc()) +
                       "expected --ranks=" + llvm::Twine(size) +
                       ", the size of group @" + group.getSymName() +
                       ", found --ranks=" + llvm::Twine(options.ranks));
    hasGroup |= size == options.ranks;
  }
  if (!(options.timeout > 0 && options.timeout <= kLongestTimeout)) {
    std::ostringstream found;
    found << options.timeout;
    return makeError("--timeout: expected more than 0 and at most a million "
                     "seconds, found " +
                     found.str());
  }
  if (options.ranks == 1)
    return llvm::Error::success();
  if (!hasGroup || options.ranks < 1)
    return makeError("expected the entry to use an mx.group with this number "
                     "of ranks, found none for --ranks=" +
                     llvm::Twine(options.ranks));
  if (options.checkWithCPU)
    return makeError("expected one rank with --check, found --ranks=" +
                     llvm::Twine(options.ranks) +
                     ": compare the results of --device=cpu");
  for (const std::string &name : options.resultFiles)
    if (!StringRef(name).contains(kRankName))
      return makeError("expected {rank} in the name of a result, so that each "
                       "rank has its own file, found " +
                       name);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

static llvm::Expected<Arrays> runOn(Program &program, const Arrays &arguments) {
  SmallVector<const NpyArray *> inputs;
  for (const NpyArray &argument : arguments)
    inputs.push_back(&argument);
  return program.run(inputs);
}

namespace {

/// State shared by the threads of a run.
class Run {
public:
  Run(Program &program, ArrayRef<Arrays> arguments, Ranks::Seconds timeout)
      : program(program), arguments(arguments),
        ranks(int(arguments.size()), timeout), results(arguments.size()) {}

  /// Runs all ranks. Returns false if a rank failed and another rank did not
  /// end.
  bool run() {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks.getCount(); ++rank)
      threads.emplace_back([this, rank] { runRank(rank); });
    bool haveEnded = wait();
    for (std::thread &thread : threads)
      if (haveEnded)
        thread.join();
      else
        thread.detach();
    return haveEnded;
  }

  llvm::Expected<std::vector<Arrays>> take() {
    std::lock_guard lock(mutex);
    if (first)
      return std::move(*first);
    return std::move(results);
  }

private:
  bool wait() {
    std::unique_lock lock(mutex);
    auto haveEnded = [&] { return ended == ranks.getCount(); };
    changed.wait(lock, [&] { return haveEnded() || first; });
    return changed.wait_for(lock, kTimeToEnd, haveEnded);
  }

  void runRank(int rank) {
    auto own = program.makeRank(ranks, rank);
    auto found = own ? runOn(**own, arguments[rank])
                     : llvm::Expected<Arrays>(own.takeError());
    if (found)
      results[rank] = std::move(*found);
    else
      fail(rank, found.takeError());
    std::lock_guard lock(mutex);
    ++ended;
    changed.notify_all();
  }

  /// Stores the first error before the other ranks are notified, because their
  /// errors are consequences of the first error.
  void fail(int rank, llvm::Error error) {
    {
      std::lock_guard lock(mutex);
      if (first)
        return llvm::consumeError(std::move(error));
      ExitStatus status = getExitStatus(error);
      first = makeError("rank " + llvm::Twine(rank) + ": " +
                            llvm::toString(std::move(error)),
                        status);
      changed.notify_all();
    }
    ranks.leave(rank);
  }

  Program &program;
  ArrayRef<Arrays> arguments;
  Ranks ranks;
  std::vector<Arrays> results;
  std::mutex mutex;
  std::condition_variable changed;
  int ended = 0;
  std::optional<llvm::Error> first;
};

} // namespace

llvm::Expected<std::vector<Arrays>>
mx::runRanks(Program &program, ArrayRef<Arrays> arguments,
             Ranks::Seconds timeout,
             llvm::function_ref<int(llvm::Error)> report) {
  if (arguments.size() == 1) {
    llvm::Expected<Arrays> own = runOn(program, arguments[0]);
    if (!own)
      return own.takeError();
    return std::vector<Arrays>{std::move(*own)};
  }
  Run run(program, arguments, timeout);
  if (!run.run()) {
    Progress::erase();
    std::_Exit(report(run.take().takeError()));
  }
  return run.take();
}
