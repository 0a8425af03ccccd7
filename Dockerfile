# The image for those who use Docker. Without Docker, `make image` makes the same from scratch.
#
#   docker build -t plimsoll --build-arg VERSION="$(git describe --tags --always --dirty)" \
#     --build-arg COMMIT="$(git rev-parse HEAD)" .
#
# BASE is a tag, which moves: to build the same again, give it with the digest that you trust,
# --build-arg BASE=gcr.io/distroless/static-debian13@sha256:...
ARG BASE=gcr.io/distroless/static-debian13:nonroot

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=dev
ARG COMMIT=
ARG DATE=
ARG TARGETARCH
ENV GOCACHE=/cache
# The Makefile knows the flags.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/cache \
    make bin/linux/$TARGETARCH/plimsoll VERSION="$VERSION" COMMIT="$COMMIT" DATE="$DATE" && \
    mkdir /image && cp bin/linux/$TARGETARCH/plimsoll /image/plimsoll && \
    ln -s plimsoll /image/cluster-autoscaler

FROM $BASE
# /plimsoll, and /cluster-autoscaler, by which Deployments made for the Cluster Autoscaler start it.
COPY --from=build /image/ /
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/plimsoll"]
