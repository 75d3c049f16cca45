# One image for web, worker and beat; docker-compose.yml says which is which. Pin the base by its digest where
# you build it (`FROM python:3.11-slim-bookworm@sha256:...`); the packages are pinned by their hashes here.

FROM python:3.11-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1
WORKDIR /app
RUN python -m venv /opt/venv
COPY requirements.lock ./
RUN /opt/venv/bin/python -m pip install --no-deps --no-build-isolation --require-hashes -r requirements.lock
COPY pyproject.toml README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE manage.py ./
COPY heartbit_site heartbit_site
COPY agents agents
COPY tools tools
COPY memory memory
COPY scheduling scheduling
COPY templates templates
# Editable: the packages, and the templates beside them, are used where they lie, and compiled there.
RUN /opt/venv/bin/python -m pip install --no-deps --no-build-isolation -e . \
    && /opt/venv/bin/python -m compileall -q heartbit_site agents tools memory scheduling
# What web serves at /docs/; its sources are needed no longer.
COPY docs docs
RUN /opt/venv/bin/python -m heartbit_site.documents.build && rm -r docs
# No service is asked: the addresses only keep the settings from looking for embedded ones.
RUN HEARTBIT_STATE_DIR=/tmp/state HEARTBIT_SECRET_KEY=build \
    DATABASE_URL=postgresql://build/build REDIS_URL=redis://build \
    /opt/venv/bin/python manage.py collectstatic --noinput --ignore "*.map"

FROM python:3.11-slim-bookworm
# libgomp1 is what the local model's library links against.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /var/lib/heartbit --shell /usr/sbin/nologin heartbit
RUN install -d -o heartbit /var/lib/heartbit/archive /var/lib/heartbit/drive
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HEARTBIT_STATE_DIR=/var/lib/heartbit
WORKDIR /app
USER heartbit
EXPOSE 8000
# Of the web process; a worker or beat is started with a check of its own, or none (docker-compose.yml). A 400 is
# an answer too: the name may not be among HEARTBIT_ALLOWED_HOSTS.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
    CMD ["python", "-c", "import http.client; c = http.client.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/api/v1/health'); raise SystemExit(c.getresponse().status >= 500)"]
CMD ["heartbit", "web", "--bind", "0.0.0.0"]
