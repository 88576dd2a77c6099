//===- NpyTest.cpp - .npy files, good and bad -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes are written by hand from the description of the format, so that the
// tests of the reader do not depend on the writer.
//===----------------------------------------------------------------------===//

#include "mxsim/io/Npy.h"
#include "FolderTest.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace mx;

namespace {

class Npy : public FolderTest {
protected:
  /// Returns the message for a file with this header and payload, without its
  /// path.
  std::string messageFor(const std::string &bytes) {
    NpyArray array;
    array.dtype = "untouched";
    std::string file = write("in.npy", bytes);
    std::string message = readNpy(file, array);
    EXPECT_EQ(array.dtype, "untouched");
    EXPECT_EQ(message.compare(0, file.size() + 2, file + ": "), 0) << message;
    return message.substr(std::min(message.size(), file.size() + 2));
  }
};

std::string file(const std::string &dict, const std::string &payload,
                 char major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {major, '\0', char(dict.size() & 255), char(dict.size() >> 8)};
  if (major > 1)
    bytes += {'\0', '\0'};
  return bytes + dict + payload;
}

std::string dict(const std::string &descr, const std::string &shape,
                 const char *fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }\n";
}

std::string bytesOf(const NpyArray &array) {
  return std::string(array.data.begin(), array.data.end());
}

TEST_F(Npy, ReadsTheThreeVersions) {
  for (char major : {1, 2, 3}) {
    NpyArray array;
    std::string name =
        write("v.npy", file(dict("<u2", "(2, 3)"), "abcdefghijkl", major));
    ASSERT_EQ(readNpy(name, array), "");
    EXPECT_EQ(array.dtype, "u2");
    EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(bytesOf(array), "abcdefghijkl");
  }
}

TEST_F(Npy, ReadsHeadersThatPythonMayWrite) {
  const struct {
    std::string bytes, type;
  } cases[] = {
      {file(dict("<f8", "()"), "12345678"), "f8"},
      {file(dict("|u1", "(0, 7)"), ""), "0x7xu1"},
      {file(dict("|b1", "(3L,)"), "abc"), "3xb1"},
      {file(dict("<i8", "(1,)", "True"), "12345678"), "1xi8"},
      {file(dict("<i2", "(1, 2)", "True"), "1234"), "1x2xi2"},
      {file(dict("<V2", "(1,)"), "12"), "1xu2"},
      {file(dict("|V1", "(2,)"), "12"), "2xu1"},
      {file("{\"shape\":(2,2),\"fortran_order\":False,\"descr\":\"<f2\"}",
            "12345678"),
       "2x2xf2"},
  };
  for (const auto &entry : cases) {
    NpyArray array;
    EXPECT_EQ(readNpy(write("p.npy", entry.bytes), array), "") << entry.type;
    EXPECT_EQ(npyTypeString(array), entry.type);
  }
}

TEST_F(Npy, RefusesBadFiles) {
  const struct {
    std::string bytes, message;
  } cases[] = {
      {"",
       "expected a .npy file starting with \\x93NUMPY, found an empty file"},
      {"PK\3\4zip file", "expected a .npy file starting with \\x93NUMPY, found "
                         "'PK??zi'"},
      {std::string("\x93NUMPY\1\0\x76", 9),
       "expected 10 bytes of header prefix, found 9 (truncated file)"},
      {file("", "", 4), "expected .npy version 1.0, 2.0 or 3.0, found 4.0"},
      {std::string("\x93NUMPY\1\0\x76\0{'de", 14),
       "expected 118 bytes of header, found 4 (truncated file)"},
      {std::string("\x93NUMPY\2\0\0\0\0\x7f", 12),
       "expected a header of at most 65536 bytes, found a length of "
       "2130706432"},
      {file(dict(">f4", "(1,)"), "1234"),
       "expected little-endian data, found big-endian dtype '>f4'"},
      {file(dict("|O", "(1,)"), "1234"),
       "expected plain data, found object dtype '|O'"},
      {file(dict("<U4", "(1,)"), "1234"),
       "expected a little-endian dtype of b1, i1-i8, u1-u8, f2, f4, f8, c8 or "
       "c16, found '<U4'"},
      {file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }",
            "1234"),
       "expected a plain dtype, found a structured one"},
      {file(dict("<f4", "(2, 2)", "True"), "1234567812345678"),
       "expected C order, found Fortran: save numpy.ascontiguousarray(x)"},
      {file(dict("<f4", "(2, 2)", "Maybe"), ""),
       "expected True or False at header byte 34, found 'Maybe, 'shape': (2, "
       "2), }?'"},
      {file(dict("<f4", "(-1,)"), ""),
       "expected a dimension that is not negative at header byte 51, found "
       "'-1,), }?'"},
      {file(dict("<f4", "(99999999999999999999,)"), ""),
       "expected a dimension below 2^63 at header byte 51, found "
       "'99999999999999999999,), }?'"},
      {file(dict("<f4", "(4294967296, 4294967296)"), ""),
       "expected an array below 2^63 bytes, found shape "
       "4294967296x4294967296xf4"},
      {file(dict("<f4", "(1000000000000,)"), "1234"),
       "expected 4000000000000 bytes of data after the header, found 4 "
       "(truncated file) for 1000000000000xf4"},
      {file(dict("<f4", "(2,)"), "123456789"),
       "expected 8 bytes of data after the header, found 9 (trailing bytes) "
       "for 2xf4"},
      {file("{'descr': '<f4', 'shape': (1,)}", "1234"),
       "expected header key fortran_order, found none"},
      {file("{'descr': '<f4', 'extra': 1}", ""),
       "expected header keys descr, fortran_order and shape, found 'extra'"},
      {file("{'descr': '<f4", ""), "expected a closing quote at header byte "
                                   "11, found '<f4'"},
      {file(dict("<f4", "(1; 1)"), ""),
       "expected ',' or ')' at header byte 52, found '; 1), }?'"},
      {file("[1, 2]", ""), "expected '{' at header byte 0, found '[1, 2]'"},
  };
  for (const auto &entry : cases)
    EXPECT_EQ(messageFor(entry.bytes), entry.message);
}

TEST_F(Npy, RefusesTooManyDimensions) {
  std::string shape = "(";
  for (int i = 0; i < 65; ++i)
    shape += "1,";
  EXPECT_EQ(messageFor(file(dict("<f4", shape + ")"), "1234")),
            "expected at most 64 dimensions, found more");
}

TEST_F(Npy, RefusesMissingFilesAndDirectories) {
  NpyArray array;
  EXPECT_EQ(readNpy(path("absent.npy"), array),
            path("absent.npy") + ": cannot open: No such file or directory");
  EXPECT_EQ(readNpy(directory, array),
            directory + ": expected a file, found a directory");
}

TEST_F(Npy, ReadsFromAPipe) {
  for (const char *payload : {"12345678", "1234", "123456789"}) {
    // A descriptor path, as passed by a shell.
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::string bytes = file(dict("<f4", "(2,)"), payload);
    ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()),
              ssize_t(bytes.size())); // fits in the pipe's buffer
    close(ends[1]);
    NpyArray array;
    std::string message = readNpy("/dev/fd/" + std::to_string(ends[0]), array);
    close(ends[0]);
    EXPECT_EQ(message.empty(), std::string(payload) == "12345678") << message;
  }
}

TEST_F(Npy, DoesNotWaitForTheWriterOfANamedPipe) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  NpyArray array;
  EXPECT_EQ(readNpy(path("pipe"), array),
            path("pipe") + ": expected a file, found a named pipe");
  EXPECT_EQ(readNpy("/dev/zero", array),
            "/dev/zero: expected a file, found a device");
}

TEST_F(Npy, WritesTheDocumentedBytes) {
  NpyArray array{"f4", {1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};
  ASSERT_EQ(writeNpy(path("w.npy"), array), "");
  std::string text =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), "
      "}";
  text.append(118 - 1 - text.size(), ' ');
  EXPECT_EQ(slurp("w.npy"), std::string("\x93NUMPY\1\0\x76\0", 10) + text +
                                "\n\1\2\3\4\5\6\7\10");
}

TEST_F(Npy, RoundTripsEveryDtypeAndShape) {
  const std::vector<int64_t> shapes[] = {{},     {0},       {5},
                                         {2, 3}, {4, 0, 2}, {1, 2, 3, 4, 5}};
  for (const char *dtype : {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4",
                            "u8", "f2", "f4", "f8", "c8", "c16"})
    for (const auto &shape : shapes) {
      size_t bytes = npyItemSize(dtype);
      for (int64_t dim : shape)
        bytes *= dim;
      NpyArray array{dtype, shape, std::vector<uint8_t>(bytes)};
      // Any nonzero byte of a bool is read as 1.
      for (size_t i = 0; i < bytes; ++i)
        array.data[i] = dtype == std::string("b1") ? i % 2 : i * 37 + 11;
      ASSERT_EQ(writeNpy(path("r.npy"), array), "");
      NpyArray back;
      ASSERT_EQ(readNpy(path("r.npy"), back), "");
      EXPECT_EQ(back.dtype, array.dtype);
      EXPECT_EQ(back.shape, array.shape);
      EXPECT_EQ(back.data, array.data);
    }
}

TEST_F(Npy, RefusesToWriteNonsense) {
  std::string name = path("n.npy");
  EXPECT_EQ(writeNpy(name, {"f3", {1}, {1, 2, 3}}),
            name + ": cannot write dtype 'f3'");
  EXPECT_EQ(writeNpy(name, {"f4", {2}, {1, 2, 3}}),
            name + ": expected 8 bytes for 2xf4, found 3");
  EXPECT_EQ(writeNpy(name, {"f4", {-1}, {}}),
            name + ": expected dimensions that are not negative, found -1xf4");
  EXPECT_TRUE(list().empty());
}

TEST_F(Npy, KeepsTheOldFileOnFailure) {
  write("old.npy", "precious");
  EXPECT_NE(writeNpy(path("old.npy"), {"u1", {4}, {1, 2, 3}}), "");
  EXPECT_EQ(slurp("old.npy"), "precious");
  EXPECT_EQ(writeNpy("/dev/full", {"u1", {3}, {1, 2, 3}}),
            "/dev/full: cannot write: No space left on device");
}

} // namespace
