# Debian 12 with all that building and testing mx needs. The sources are mounted:
#
#   docker build -t mx .
#   docker run --rm -it -v "$PWD:/work" mx scripts/test
#
# All steps are in scripts/setup-container, which also runs without a container.
FROM debian:bookworm

# Outside of the mounted sources, so that it stays with the image.
ENV MX_VENV=/opt/mx/.venv

COPY scripts /opt/mx/scripts
COPY simulator/scripts /opt/mx/simulator/scripts
RUN /opt/mx/scripts/setup-container --user mx --nightly && apt-get clean

USER mx
WORKDIR /work
