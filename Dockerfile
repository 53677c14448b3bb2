FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Cargo.toml Cargo.lock rustfmt.toml schema.graphql ./
COPY .cargo .cargo
COPY api api
COPY connectors connectors
COPY domain domain
COPY migration migration
COPY src src
COPY ui/dist ui/dist
COPY benches benches
COPY tests tests
RUN cargo build --release --locked --bin fairshared && mkdir /data

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /src/target/release/fairshared /usr/local/bin/fairshared
COPY --from=build --chown=nonroot:nonroot /data /data
WORKDIR /data
ENV FAIRSHARED_LISTEN=0.0.0.0:8080 FAIRSHARED_DATABASE_URL=sqlite:///data/fairshared.db
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["fairshared"]
CMD ["serve"]
