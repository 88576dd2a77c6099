//===- ImageTest.cpp - Recognition of modules and targets -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests which targets a GPU can run (PTX ISA, .target), and the classification
// of images.
//===----------------------------------------------------------------------===//

#include "mxsim/Image.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mx::sim;

namespace {

TEST(Image, TargetsRunAsInThePtxIsa) {
  const struct {
    const char *target;
    int major, minor;
    bool runs;
  } cases[] = {
      {"sm_90", 9, 0, true},     {"sm_90", 10, 0, true},
      {"sm_90", 8, 9, false},    {"sm_90a", 9, 0, true},
      {"sm_90a", 10, 0, false},  {"sm_100a", 10, 0, true},
      {"sm_100a", 10, 3, false}, {"sm_100f", 10, 0, true},
      {"sm_100f", 10, 3, true},  {"sm_103f", 10, 0, false},
      {"sm_100f", 12, 0, false}, {"sm_100", 12, 0, true},
      {"sm_103a", 10, 3, true},  {"sm_120a", 12, 0, true},
      {"sm_100x", 10, 0, false}, {"compute_90", 9, 0, false},
      {"sm_", 9, 0, false},      {"sm_9", 9, 0, false},
      {"sm_90aa", 9, 0, false},  {"", 9, 0, false},
  };
  for (const auto &entry : cases)
    EXPECT_EQ(targetRunsOn(entry.target, {entry.major, entry.minor}),
              entry.runs)
        << entry.target << " on " << entry.major << "." << entry.minor;
}

TEST(Image, ReadsTheTargetAfterComments) {
  Image image;
  const char text[] = "// .target sm_80\n/* .target sm_70 */\n"
                      ".version 8.7\n.target\tsm_100a, debug\n";
  std::string error = readImage(text, sizeof(text), "a.ptx", image);
  EXPECT_EQ(error, "");
  EXPECT_EQ(image.kind, Image::Ptx);
  EXPECT_EQ(image.target, "sm_100a");
  EXPECT_EQ(image.bytes.size(), sizeof(text) - 1);
}

TEST(Image, RefusesHugeSectionOffsets) {
  for (uint64_t place : {uint64_t(1) << 62, ~uint64_t(0) - 8}) {
    std::string bytes(64, '\0');
    bytes.replace(0, 7,
                  "\x7f"
                  "ELF\x02\x01\x01");
    bytes[58] = 64; // e_shentsize
    bytes[60] = 2;  // e_shnum
    memcpy(&bytes[40], &place, sizeof(place));
    Image image;
    std::string error = readImage(bytes.data(), 0, "k.cubin", image);
    EXPECT_EQ(error, "k.cubin: expected a 64-bit little-endian ELF file");
  }
}

TEST(Image, DistinguishesBinaries) {
  Image image;
  std::string elf("\x7f"
                  "ELF\0\0\0\0",
                  8),
      fatbin("\x50\xed\x55\xba\0\0\0\0", 8);
  EXPECT_EQ(readImage(elf.data(), elf.size(), "", image), "");
  EXPECT_EQ(image.kind, Image::Cubin);
  EXPECT_EQ(image.bytes, elf);
  EXPECT_EQ(readImage(fatbin.data(), fatbin.size(), nullptr, image), "");
  EXPECT_EQ(image.kind, Image::Fatbin);
  EXPECT_EQ(image.name, "module");
}

TEST(Image, RefusesOtherContents) {
  Image image;
  const struct {
    const char *text, *message;
  } cases[] = {
      {"", "m: expected PTX text, a cubin or a fatbin, found 0 bytes without "
           ".version"},
      {"hello", "m: expected PTX text, a cubin or a fatbin, found 5 bytes "
                "without .version"},
      {".version 8.0\n", "m: expected PTX text, a cubin or a fatbin, found 13 "
                         "bytes without .target"},
      {".version 8.0\n.target ", "m: expected PTX text, a cubin or a fatbin, "
                                 "found 21 bytes without .target"},
      {".version 8.0\n.target gfx90\n",
       "m: expected a .target such as sm_90a, found 'gfx90'"},
      {"/* .version 8.0", "m: expected PTX text, a cubin or a fatbin, found 15 "
                          "bytes without .version"},
  };
  for (const auto &entry : cases) {
    std::string error = readImage(entry.text, 0, "m", image);
    EXPECT_EQ(error, entry.message);
  }
}

} // namespace
