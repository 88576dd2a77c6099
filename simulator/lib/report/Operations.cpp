//===- Operations.cpp - Clocks of asynchronous operations -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation begins after earlier operations that the same warp issued to the
// engine; the PTX ISA does not order operations of different warps. Copies
// overlap with the latency of earlier copies. The tensor pipe executes one
// operation at a time.
//===----------------------------------------------------------------------===//

#include "../time/Stopwatch.h"
#include "NominalSteps.h"
#include "Recorder.h"

#include <algorithm>
#include <utility>

using namespace mx::sim;
using time::Transfer;

static std::string instructionText(const Program &p, const Instr *i) {
  const InstrInfo &info = p.infoOf(i);
  return info.source ? info.source->text() : std::string("operation");
}

Recorder::Interval Recorder::nominal(Warp &w, Engine engine, uint64_t busy,
                                     uint64_t latency) {
  uint64_t &free = of(w).engineFree[unsigned(engine)];
  uint64_t begin = std::max(now, free);
  free = begin + busy;
  return {begin, free + latency, free};
}

void Recorder::draw(Warp &w, const Instr *i, Engine engine, SpanKind kind,
                    Interval when, uint64_t bytes, const std::string &text) {
  WarpTrace &t = of(w);
  if (strand < t.strands.size())
    ++t.strands[strand].events;
  TimelineSpan span;
  span.begin = when.begin;
  span.end = when.end;
  span.kind = kind;
  span.line = span.lastLine = lineOf(i);
  span.issued = now;
  span.issuer = w.cta->rank * machine.warpsPerCta + w.index;
  span.bytes = bytes;
  span.text = intern(text);
  if (span.end > span.begin)
    add(t.operations[unsigned(kind == SpanKind::Commit ? Engine::Commit
                                                       : engine)],
        span);
}

//===----------------------------------------------------------------------===//
// Shared memory filled by copies
//===----------------------------------------------------------------------===//

void Recorder::fillSlot(Warp &w, const Instr *i, uint32_t rank, uint32_t offset,
                        uint64_t bytes, Interval when) {
  if (numSpans >= maxSpans)
    return;
  SlotTrace &slot = slots[rank << kRankShift | offset];
  slot.bytes = std::max(slot.bytes, bytes);
  Fill f;
  f.begin = when.begin;
  f.done = when.end;
  f.issued = now;
  f.bytes = bytes;
  f.line = lineOf(i);
  f.issuer = w.cta->rank * machine.warpsPerCta + w.index;
  slot.fills.push_back(f);
  numSpans += 3;
}

/// Records a read of shared memory. If no copy has filled the range, adds a
/// slot of `bytes` bytes, or ignores the read if `bytes` is 0.
void Recorder::readSlot(uint32_t rank, uint64_t address, uint64_t bytes,
                        Interval when, uint32_t line) {
  uint32_t key = rank << kRankShift | uint32_t(address & kOffsetMask);
  auto it = slots.upper_bound(key);
  bool isFound = false;
  if (it != slots.begin()) {
    --it;
    isFound = it->first >> kRankShift == rank &&
              key - it->first < std::max<uint64_t>(it->second.bytes, 1);
  }
  if (!isFound) {
    if (!bytes || numSpans >= maxSpans)
      return;
    it = slots.emplace(key, SlotTrace()).first;
    it->second.bytes = bytes;
  }
  std::vector<Fill> &fills = it->second.fills;
  // If no copy has filled the slot, record each read separately.
  if (fills.empty() || (bytes && fills.back().begin == TimelineSpan::kNever)) {
    if (numSpans >= maxSpans)
      return;
    ++numSpans;
    fills.emplace_back();
    fills.back().bytes = bytes;
  }
  Fill &f = fills.back();
  if (when.begin < f.readBegin || !f.readLine)
    f.readLine = line;
  f.readBegin = std::min(f.readBegin, when.begin);
  f.readEnd = std::max(f.readEnd, when.end);
  f.readLast = line;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Wraps `f`, which draws an operation after the completion is known, so that
/// `now` and `strand` have their values from the issue.
template <class F>
std::function<void(const time::Interval &)> Recorder::atIssue(F &&f) {
  return [this, f = std::forward<F>(f), step = now,
          group = strand](const Interval &when) {
    uint64_t savedNow = std::exchange(now, step);
    uint32_t savedStrand = std::exchange(strand, group);
    f(when);
    now = savedNow;
    strand = savedStrand;
  };
}

uint64_t Recorder::load(Warp &w, const Instr *i, Engine engine, uint32_t ranks,
                        uint32_t offset, Transfer transfer, uint64_t latency) {
  if (!hasClocks())
    return 0;
  auto book = atIssue([this, &w, i, engine, ranks, offset,
                       bytes = transfer.bytes](const Interval &when) {
    if (!hasTimeline)
      return;
    draw(w, i, engine, SpanKind::Load, when, bytes,
         instructionText(machine.program, i) + " to " +
             machine.describeSharedOffset(offset));
    for (uint32_t left = ranks; left; left &= left - 1)
      fillSlot(w, i, uint32_t(__builtin_ctz(left)), offset, bytes, when);
  });
  if (watch) {
    watch->load(w, now, ranks, std::move(transfer), std::move(book));
    return 0;
  }
  Interval when = nominal(w, engine, steps::copyBusy(transfer.bytes), latency);
  book(when);
  return when.end;
}

void Recorder::store(Warp &w, const Instr *i, Cta &from, uint32_t offset,
                     Transfer transfer) {
  if (!hasClocks())
    return;
  auto book =
      atIssue([this, &w, i, rank = from.rank, offset, bytes = transfer.bytes,
               group = openGroup(w, Groups::Bulk)](const Interval &when) {
        groupOf(w, Groups::Bulk, group)
            .join(when.end, when.read, when.path, when.readPath);
        if (!hasTimeline)
          return;
        draw(w, i, Engine::BulkStore, SpanKind::Store, when, bytes,
             instructionText(machine.program, i) + " from " +
                 machine.describeSharedOffset(offset));
        readSlot(rank, offset, bytes, {when.begin, when.read}, lineOf(i));
      });
  if (watch)
    return watch->store(w, now, std::move(transfer), std::move(book));
  book(nominal(w, Engine::BulkStore, steps::copyBusy(transfer.bytes),
               steps::kCopyLatency));
}

void Recorder::copyAsync(Warp &w, const Instr *i, Transfer transfer) {
  if (!hasClocks())
    return;
  auto book =
      atIssue([this, &w, i, bytes = transfer.bytes,
               group = openGroup(w, Groups::Copy)](const Interval &when) {
        WarpTrace &t = of(w);
        if (when.end >= t.copiesDone)
          t.copiesPath = when.path;
        t.copiesDone = std::max(t.copiesDone, when.end);
        groupOf(w, Groups::Copy, group)
            .join(when.end, when.end, when.path, when.path);
        if (hasTimeline)
          draw(w, i, Engine::CopyAsync, SpanKind::Load, when, bytes,
               instructionText(machine.program, i));
      });
  if (watch)
    return watch->copyAsync(w, now, std::move(transfer), std::move(book));
  book(nominal(w, Engine::CopyAsync, steps::copyBusy(transfer.bytes),
               steps::kCopyLatency));
}

/// Returns the completion step of all cp.async that the warp has issued so far.
uint64_t Recorder::copiesSoFar(Warp &w) {
  if (!hasClocks())
    return 0;
  if (!watch)
    return std::max(now, of(w).copiesDone);
  watch->afterRequests(w, now, [this, &w, step = now, path = w.group().path] {
    uint64_t done = of(w).copiesDone;
    watch->recordEnd(std::max(step, done),
                     step < done ? of(w).copiesPath : path);
  });
  return 0;
}

uint64_t Recorder::control(Warp &w, const Instr *i) {
  if (!hasClocks())
    return 0;
  Interval when =
      watch ? watch->control(w, now)
            : nominal(w, Engine::LaunchControl, 1, steps::kControlLatency);
  if (hasTimeline)
    draw(w, i, Engine::LaunchControl, SpanKind::Control, when, 16,
         instructionText(machine.program, i));
  return when.end;
}

//===----------------------------------------------------------------------===//
// The tensor pipe
//===----------------------------------------------------------------------===//

/// Returns the rank of the CTA, or the first rank of its pair.
static uint32_t firstRank(const Warp &w, unsigned group) {
  return group == 2 ? w.cta->rank & ~1u : w.cta->rank;
}

uint64_t Recorder::mma(Warp &w, const Instr *i, const MmaOp &op) {
  InstrDesc desc;
  Fault f = decodeInstrDesc(op.idesc, op.kind, op.ctaGroup, op.scaleVec, desc,
                            {op.sparse, op.weightStationary});
  std::string shape = std::to_string(desc.m) + "x" + std::to_string(desc.n) +
                      "x" + std::to_string(desc.k);
  std::string text = "tcgen05.mma";
  text += op.weightStationary ? ".ws" : "";
  text += op.sparse ? ".sp" : "";
  text += ".cta_group::" + std::to_string(op.ctaGroup) +
          ".kind::" + std::string(name(op.kind)) + " " + shape;
  if (f)
    text = "tcgen05.mma with a bad instruction descriptor";
  ++mmas[w.index][text];
  if (!hasClocks())
    return 0;
  Interval when =
      watch
          ? watch->mma(w, now, op, desc)
          : nominal(w, Engine::TensorPipe,
                    steps::mma(desc.m, desc.n, op.ctaGroup, op.aInTensorMemory),
                    0);
  if (!hasTimeline)
    return when.end;
  char where[64];
  std::snprintf(where, sizeof where, ", D at tensor memory 0x%x", op.d);
  draw(w, i, Engine::TensorPipe, SpanKind::Mma, when, 0, text + where);
  for (unsigned k = 0; k < op.ctaGroup; ++k) {
    SmemDesc a, b;
    uint32_t rank = firstRank(w, op.ctaGroup) + k;
    if (!op.aInTensorMemory && !decodeSmemDesc(op.aDesc, a))
      readSlot(rank, a.start, 0, when, lineOf(i));
    if (!decodeSmemDesc(op.bDesc, b))
      readSlot(rank, b.start, 0, when, lineOf(i));
  }
  return when.end;
}

uint64_t Recorder::copyToTensor(Warp &w, const Instr *i, const CpOp &op,
                                uint64_t bytes) {
  if (!hasClocks())
    return 0;
  Interval when =
      watch ? watch->copyToTensor(w, now, op.ctaGroup, bytes)
            : nominal(w, Engine::TensorPipe, steps::copyBusy(bytes), 0);
  if (!hasTimeline)
    return when.end;
  draw(w, i, Engine::TensorPipe, SpanKind::TensorCopy, when, bytes,
       instructionText(machine.program, i));
  for (unsigned k = 0; k < op.ctaGroup; ++k) {
    SmemDesc from;
    if (!decodeSmemDesc(op.desc, from))
      readSlot(firstRank(w, op.ctaGroup) + k, from.start, 0, when, lineOf(i));
  }
  return when.end;
}

uint64_t Recorder::shift(Warp &w, const Instr *i, unsigned ctaGroup) {
  if (!hasClocks())
    return 0;
  Interval when = watch ? watch->copyToTensor(w, now, ctaGroup, 0)
                        : nominal(w, Engine::TensorPipe, steps::kShift, 0);
  if (!hasTimeline)
    return when.end;
  draw(w, i, Engine::TensorPipe, SpanKind::TensorCopy, when, 0,
       instructionText(machine.program, i));
  return when.end;
}

/// Records a commit. The commit completes after all work that the warp has
/// issued to the pipe, without blocking the warp.
uint64_t Recorder::commit(Warp &w, const Instr *i) {
  if (!hasClocks())
    return 0;
  Interval when =
      watch ? watch->commit(w, now)
            : nominal(w, Engine::TensorPipe, 0, steps::kTensorLatency);
  if (!hasTimeline)
    return when.end;
  draw(w, i, Engine::TensorPipe, SpanKind::Commit, when, 0,
       instructionText(machine.program, i));
  return when.end;
}

uint64_t Recorder::wgmma(Warp &w, const Instr *i, unsigned columns, uint64_t a,
                         bool aInRegisters, uint64_t b) {
  if (!hasClocks())
    return 0;
  Interval when = watch ? watch->wgmma(w, now, columns, aInRegisters)
                        : nominal(w, Engine::Wgmma, steps::wgmma(columns), 0);
  if (!hasTimeline)
    return when.end;
  draw(w, i, Engine::Wgmma, SpanKind::Mma, when, 0,
       instructionText(machine.program, i));
  SmemDesc desc;
  if (!aInRegisters && !decodeWgmmaDesc(a, desc))
    readSlot(w.cta->rank, desc.start, 0, when, lineOf(i));
  if (!decodeWgmmaDesc(b, desc))
    readSlot(w.cta->rank, desc.start, 0, when, lineOf(i));
  return when.end;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void Recorder::GroupClock::Ends::join(uint64_t done, uint64_t read,
                                      const time::Path &path,
                                      const time::Path &readPath) {
  if (done > this->done)
    this->path = path;
  if (read > this->read)
    this->readPath = readPath;
  this->done = std::max(this->done, done);
  this->read = std::max(this->read, read);
}

uint64_t Recorder::openGroup(Warp &w, Groups kind) {
  const GroupClock &c = of(w).groups[unsigned(kind)];
  return c.first + c.groups.size() - 1;
}

Recorder::GroupClock::Ends &Recorder::groupOf(Warp &w, Groups kind,
                                              uint64_t group) {
  GroupClock &c = of(w).groups[unsigned(kind)];
  return group < c.first ? c.past : c.groups[size_t(group - c.first)];
}

void Recorder::joinGroup(Warp &w, Groups kind, uint64_t done,
                         const time::Path &path) {
  if (hasClocks())
    groupOf(w, kind, openGroup(w, kind)).join(done, done, path, path);
}

void Recorder::commitGroup(Warp &w, Groups kind) {
  if (hasClocks())
    of(w).groups[unsigned(kind)].groups.emplace_back();
}

void Recorder::waitGroups(Warp &w, Groups kind, uint64_t left, bool reads) {
  if (!hasClocks())
    return;
  GroupClock &c = of(w).groups[unsigned(kind)];
  for (size_t pending = c.groups.size() - 1; pending > left; --pending) {
    const GroupClock::Ends &ends = c.groups.front();
    c.past.join(ends.done, ends.read, ends.path, ends.readPath);
    c.groups.pop_front();
    ++c.first;
  }
  uint64_t end = reads ? c.past.read : c.past.done;
  if (watch && kind == Groups::Wgmma)
    w.counts.mmaCycles += end - std::min(end, now);
  advance(w, end, {SpanKind::WaitGroup, 0, uint32_t(left), uint32_t(kind)},
          reads ? c.past.readPath : c.past.path);
}
