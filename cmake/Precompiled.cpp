// What there is to compile is the header that CMake includes.
