//===- ProgramFiles.h - A compiled directory for tests ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handwritten program, as mx-compile would write it, for a sum that passes
// through the workspace.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_RUNTIME_PROGRAMFILES_H
#define MX_UNITTESTS_RUNTIME_PROGRAMFILES_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

/// Computes z = x + y in f32. A grid of at most one block per multiprocessor is
/// enough for the tests.
inline constexpr char kSumManifest[] = R"({
  "format": 5,
  "target": "sm_90a",
  "ptx": "kernels.ptx",
  "cubin": "kernels.cubin",
  "kernels": [
    {"name": "KERNEL", "block": [128, 1, 1], "dynamic_smem": 0, "programmatic": PROGRAMMATIC}
  ],
  "entries": [
    {
      "name": "sum",
      "arguments": [
        {"name": "x", "type": "tensor<?xf32>", "dtype": "f4", "shape": ["?"]},
        {"name": "y", "type": "tensor<?xf32>", "dtype": "f4", "shape": ["?"]},
        {"name": "n", "type": "i32", "dtype": "i4"}
      ],
      "results": [
        {"name": "z", "type": "tensor<?xf32>", "dtype": "f4", "shape": ["arg0[0]"]}
      ],
      "values": [
        ["mul", "arg0[0]", 4],
        ["ceildiv", "v0", 256],
        ["mul", "v1", 256],
        ["ceildiv", "arg0[0]", 128],
        ["min", "v3", "sm_count"],
        ["eq", "arg0[0]", "arg1[0]"],
        ["mod", "result0.address", 16],
        ["eq", "v6", 0]
      ],
      "requires": [
        {"condition": "v5", "message": "expected {} elements of y, found {}", "values": ["arg0[0]", "arg1[0]"]},
        {"condition": "v7", "message": "expected z at a multiple of 16, found {} after one", "values": ["v6"]}
      ],
      "workspace": "v2",
      "buffers": [
        {"offset": 0, "bytes": "v0"}
      ],
      "tensor_maps": [],
      "steps": [
        {"memset": "result0", "byte": 7, "bytes": "v0"},
        {"copy": "arg0", "to": "work0", "bytes": "v0"},
        {"launch": "KERNEL", "grid": ["v4", 1, 1], "args": [{"buffer": "work0"}, {"buffer": "arg1"}, {"buffer": "result0"}, {"argument": 2}]}
      ]
    }
  ]
}
)";

/// A directory with a manifest and kernels, removed by the destructor.
class ProgramFiles {
public:
  ProgramFiles(const std::string &kernel, const std::string &programmatic) {
    std::string pattern = testing::TempDir() + "mx-program-XXXXXX";
    path = mkdtemp(pattern.data());
    manifest = kSumManifest;
    fill("KERNEL", kernel);
    fill("PROGRAMMATIC", programmatic);
    write("manifest.json", manifest);
  }
  ~ProgramFiles() { std::filesystem::remove_all(path); }

  void write(const std::string &name, const std::string &text) {
    std::ofstream(path + "/" + name) << text;
  }
  /// Writes the manifest with `from` replaced by `to`.
  void change(const std::string &from, const std::string &to) {
    std::string text = manifest;
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write("manifest.json", text.replace(at, from.size(), to));
  }

  std::string path, manifest;

private:
  void fill(const std::string &mark, const std::string &text) {
    for (size_t at; (at = manifest.find(mark)) != std::string::npos;)
      manifest.replace(at, mark.size(), text);
  }
};

#endif // MX_UNITTESTS_RUNTIME_PROGRAMFILES_H
