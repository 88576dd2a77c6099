// Checks of the programs in simulator/test/Run.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);          \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)
#define OK(call) CHECK((call) == 0)
