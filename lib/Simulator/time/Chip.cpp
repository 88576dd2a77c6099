//===- Chip.cpp - figures of chips ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured figures are those of docs/ChipSpeed.md, by benchmarks/chip on an
// H200; the range is what repetitions gave. docs/TimeModel.md says how the
// derived ones come of them.
//===----------------------------------------------------------------------===//

#include "Facts.h"

using namespace mx::sim;
using namespace mx::sim::time;

namespace {

constexpr Chip kH200 = {
    "h200",
    "NVIDIA H200",
    "sm_90a",
    90,
    {{
        {"SMs", 132, 132, 132, "", kPublished, "NVIDIA H200 data sheet"},
        {"clock without a limit of power", 1980, 1965, 1980, "MHz", kMeasured,
         "docs/ProductSpeed.md, burst"},
        {"the same of kernels with products", 1850, 1813, 1850, "MHz",
         kMeasured, "ncu, cycles by duration, 105 launches"},
        {"less where the tensor cores are always busy", 275, 250, 290, "MHz",
         kDerived, "the same: 1585 MHz where they are busy for 93 %"},
        {"after which that is so, to 1 / e", 25, 10, 60, "us", kDerived,
         "the same: launches of 30 and of 180 us"},
        {"launch in a CUDA graph", 0.55, 0.51, 0.56, "us", kMeasured,
         "launch.cu, a CTA of 384 threads for each SM"},
        {"from the start of a kernel to its first instruction's end", 1000, 150,
         2800, "cycles", kAssumed,
         "ctas.cu: 60; docs/Internals/ScheduleModel.md: 1000 to 2800"},
        {"from the end of a CTA to the first instruction of the next", 360, 346,
         522, "cycles", kMeasured, "ctas.cu"},

        {"result of an integer instruction", 4, 4, 5, "cycles", kMeasured,
         "latencies.cu"},
        {"result of a comparison, to what it guards", 13, 13, 13, "cycles",
         kPublished, "the stalls that ptxas writes"},
        {"result of a floating-point instruction", 4, 4, 5, "cycles", kMeasured,
         "latencies.cu"},
        {"result of ex2, rsqrt, tanh, popc", 17, 17, 23, "cycles", kMeasured,
         "latencies.cu"},
        {"result of shfl", 24, 24, 24, "cycles", kMeasured, "latencies.cu"},

        {"a branch that is taken, beside its stall", 7, 6, 7, "cycles",
         kMeasured, "code.cu, loops of 1 to 32 instructions"},

        {"bytes of shared memory a cycle", 128, 124, 128, "bytes/cycle",
         kMeasured, "shared.cu"},
        {"latency of ld.shared", 23, 23, 24, "cycles", kMeasured, "shared.cu"},
        {"accesses that wait for shared memory, in its cycles", 64, 16, 256,
         "cycles", kAssumed, "that there is a limit: shared.cu"},
        {"L1 and shared memory of an SM", 256, 256, 256, "KiB", kPublished,
         "CUDA C++ Programming Guide"},
        {"latency of a load that hits in L1", 34, 33, 38, "cycles", kMeasured,
         "latencies.cu"},

        {"columns of wgmma a cycle", 2, 1.99, 2, "1/cycle", kMeasured,
         "wgmma.cu, N >= 64"},
        {"wgmma with A in shared memory, fewest cycles", 16, 16, 16.1, "cycles",
         kMeasured, "wgmma.cu"},
        {"its columns a cycle beyond, for few columns", 4, 4, 4, "1/cycle",
         kMeasured, "wgmma.cu: 16 + N / 4"},
        {"wgmma with A in registers, fewest cycles", 13, 13, 13.6, "cycles",
         kMeasured, "wgmma.cu"},
        {"from the end of a wgmma to the warp that waits for it", 40, 36, 45,
         "cycles", kMeasured, "products.cu, batches that are waited for"},
        {"its columns a cycle more", 12, 8, 20, "1/cycle", kMeasured,
         "products.cu, 8 to 256 columns"},
        {"multiplications of mma.sync in bf16 a cycle, an SM", 1320, 1280, 1330,
         "1/cycle", kMeasured, "mma.cu, 8 warps"},
        {"latency of mma.sync m16n8k16", 27, 23, 28, "cycles", kMeasured,
         "mma.cu"},

        {"a copy, until the thread goes on", 28, 10, 72, "cycles", kDerived,
         "copies.cu, 153 to 171 cycles a box with all that its thread does"},
        {"a box, the copy engine's own work", 48, 30, 97, "cycles", kAssumed,
         "B300: 48 to 53 in a row; tma.cu: a thread gives it one in 97"},
        {"bytes that come into an SM by the copy engine", 108, 96, 110,
         "bytes/cycle", kMeasured,
         "copies.cu, 256 rows of 128 bytes, and 32 KiB in a row"},
        {"a row of a box, of up to 128 bytes", 1, 0.98, 1.02, "cycles",
         kMeasured, "copies.cu, 256 rows of 64 and of 32 bytes"},
        {"bytes that a store of the copy engine reads", 32, 31, 33,
         "bytes/cycle", kMeasured, "copies.cu, 1 to 16 KiB"},
        {"a box of 1 KiB from L2, beside the engine's work", 225, 200, 250,
         "cycles", kDerived, "tma.cu, latency of 354 cycles"},
        {"the same from HBM, in addition", 559, 550, 570, "cycles", kDerived,
         "tma.cu, 913 and 354 cycles"},
        {"bytes of HBM that a byte of boxes costs", 1.1, 1.09, 1.15, "",
         kDerived, "tma.cu, 2070 bytes a cycle, and memory.cu, 2296"},

        {"bytes between an SM and L2", 110, 108, 128, "bytes/cycle", kMeasured,
         "copies.cu"},
        {"the same, loads of threads", 64, 60, 64, "bytes/cycle", kMeasured,
         "traffic.cu, one SM"},
        {"bytes out of L2, all SMs", 4700, 4600, 4720, "bytes/cycle", kMeasured,
         "tma.cu, boxes of 64 rows and more"},
        {"the same, loads of threads", 3940, 3840, 3975, "bytes/cycle",
         kMeasured, "traffic.cu and memory.cu"},
        {"the same, stores", 2150, 2035, 2220, "bytes/cycle", kMeasured,
         "traffic.cu and memory.cu"},
        {"parts of lines that are stored, all SMs", 31, 31, 65, "1/cycle",
         kMeasured, "traffic.cu, a lane in each row"},
        {"time in which L2 gives a line to SMs of a GPC at once", 500, 250,
         1500, "cycles", kAssumed, "that it does: traffic.cu, SMs that share"},
        {"L2", 52, 48, 60, "MiB", kMeasured,
         "traffic.cu: of what all SMs read, half of it"},
        {"parts of it that keep copies", 2, 2, 2, "", kMeasured, "traffic.cu"},
        {"latency of a load from L2", 300, 258, 330, "cycles", kMeasured,
         "traffic.cu: 287 is the median; memory.cu: 330"},
        {"bytes out of HBM", 4520, 4320, 4540, "bytes/ns", kMeasured,
         "memory.cu"},
        {"latency of a load from HBM", 660, 600, 700, "cycles", kMeasured,
         "memory.cu"},

        {"mbarrier.try_wait of a phase that is over", 46, 44, 50, "cycles",
         kDerived, "barriers.cu, 70 cycles a round"},
        {"mbarrier.arrive, until the warp goes on", 2, 1, 10, "cycles",
         kDerived, "barriers.cu, 13 cycles from one to the next"},
        {"from an arrival to the result of the test that waits", 48, 45, 55,
         "cycles", kDerived, "barriers.cu, 75 cycles a hand-over"},
        {"bar.sync, the part that warps share", 18.5, 18, 24, "cycles",
         kDerived, "barriers.cu, 24 + 2 cycles a warp"},
        {"bar.sync, for each warp", 1.75, 1.7, 2, "cycles", kDerived,
         "barriers.cu, less what the loop issues"},
        {"barrier.cluster of two CTAs", 344, 340, 346, "cycles", kMeasured,
         "barriers.cu"},
        {"barrier.cluster, for each CTA more", 7.3, 0, 10, "cycles", kDerived,
         "barriers.cu, two CTAs and four"},
        {"arrival at an mbarrier of another CTA, beside one of its own", 56, 50,
         60, "cycles", kMeasured, "barriers.cu, 131 for 75 cycles"},
        {"fence of the device", 485, 271, 485, "cycles", kMeasured,
         "traffic.cu, after a store and without"},
    }},
};

constexpr const Chip *kChips[] = {&kH200, &kB200};

} // namespace

std::string_view mx::sim::toString(Origin origin) {
  static constexpr std::string_view names[] = {"measured", "published",
                                               "derived", "assumed"};
  return names[unsigned(origin)];
}

const Chip *mx::sim::time::findChip(std::string_view name) {
  for (const Chip *chip : kChips)
    if (chip->name == name || chip->target == name)
      return chip;
  return nullptr;
}

std::vector<std::string_view> mx::sim::namesOfTimedChips() {
  std::vector<std::string_view> names;
  for (const Chip *chip : kChips)
    names.push_back(chip->name);
  return names;
}

uint32_t mx::sim::smsOfTimedChip(std::string_view name) {
  const Chip *chip = findChip(name);
  return chip ? uint32_t(chip->cycles(Fact::Multiprocessors)) : 0;
}

std::string mx::sim::listOfTimedChips() {
  std::string all;
  for (std::string_view name : namesOfTimedChips())
    all += (all.empty() ? "'" : ", '") + std::string(name) + "'";
  return all;
}

std::vector<Figure> mx::sim::figuresOfChip(std::string_view name) {
  std::vector<Figure> figures;
  if (const Chip *chip = findChip(name))
    for (unsigned k = 0; k < kFacts; ++k)
      if (!chip->figures[k].name.empty()) {
        figures.push_back(chip->figures[k]);
        figures.back().key = infoOf(Fact(k)).key;
      }
  return figures;
}
