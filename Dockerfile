# Kiwari in a small image: one binary, nothing to build with, no root, and nothing written but /var/lib/kiwari.
#
#   docker build -t kiwari .
#
# BuildKit is not needed. Behind a registry mirror or a proxy that looks into TLS, name images of your own:
#   docker build --build-arg RUST_IMAGE=… --build-arg RUNTIME_IMAGE=… .
ARG RUST_IMAGE=rust:1.95.0-slim-bookworm
ARG RUNTIME_IMAGE=debian:bookworm-20260824-slim

# The manifests, each with an empty crate around it. What comes out of here changes only when a manifest or the lock file
# does, and the dependencies, built from it in the next stage, are kept until then.
FROM ${RUST_IMAGE} AS manifests
WORKDIR /src
COPY . .
RUN set -eu; \
    for manifest in crates/*/Cargo.toml tests/Cargo.toml; do \
        crate="${manifest%/Cargo.toml}"; \
        mkdir -p "/hollow/$crate/src"; \
        cp "$manifest" "/hollow/$crate/"; \
        if [ -f "$crate/src/lib.rs" ]; then touch "/hollow/$crate/src/lib.rs"; fi; \
        if [ -f "$crate/src/main.rs" ]; then echo 'fn main() {}' > "/hollow/$crate/src/main.rs"; fi; \
    done; \
    cp Cargo.toml Cargo.lock /hollow/

FROM ${RUST_IMAGE} AS build
WORKDIR /src
# Symbols stay, for the names in a backtrace; lines would make the binary four times as large.
ENV CARGO_PROFILE_RELEASE_DEBUG=false
COPY --from=manifests /hollow .
RUN cargo build --release --locked -p kiwari
COPY migrations migrations
COPY models models
COPY examples examples
COPY crates crates
# Sources may be older than the hollow crates, and cargo goes by age.
RUN find crates -name '*.rs' -exec touch {} + \
    && cargo build --release --locked -p kiwari

FROM ${RUNTIME_IMAGE}
LABEL org.opencontainers.image.title="Kiwari" \
      org.opencontainers.image.description="Help search that always answers on time" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
RUN groupadd --gid 10001 kiwari \
    && useradd --uid 10001 --gid kiwari --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin kiwari \
    && install -d -o kiwari -g kiwari /var/lib/kiwari /etc/kiwari
# Model APIs are called over TLS. Copied, because a package manager's run would have to reach a mirror.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/kiwari/
COPY models/use-m3-enja/LICENSE models/use-m3-enja/NOTICE.md /usr/share/doc/kiwari/model/
COPY crates/japanese/data/LICENSE.unidic crates/japanese/data/NOTICE.md /usr/share/doc/kiwari/dictionary/
COPY --from=build /src/target/release/kiwari /usr/local/bin/
# Within a container loopback reaches nobody. What is published, and to whom, is said where it is run.
ENV KIWARI__SERVER__BIND=0.0.0.0:8080 \
    KIWARI__SERVER__PUBLIC=true \
    KIWARI__DATA__DIR=/var/lib/kiwari
# A kiwari.toml is read from here.
WORKDIR /etc/kiwari
USER 10001:10001
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 CMD ["kiwari", "healthcheck"]
ENTRYPOINT ["kiwari"]
CMD ["serve"]
