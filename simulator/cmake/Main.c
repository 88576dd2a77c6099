/*===- Main.c - The main of a tool ----------------------------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Calls MX_MAIN: a function in the objects of an ordinary tool, and in libmx *|
|* for the tools of a wheel.                                                  *|
\*===----------------------------------------------------------------------===*/

int MX_MAIN(int argc, char **argv);

int main(int argc, char **argv) { return MX_MAIN(argc, argv); }
