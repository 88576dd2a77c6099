# Install rules and the package configuration for find_package(MX).
