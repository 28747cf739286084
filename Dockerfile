# Shoal with compiled kernels, run by a normal user, on a file system that is only read, without a network:
#
#     docker build --tag shoal .
#     docker run --rm --read-only --user "$(id -u):$(id -g)" --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#       --network none --volume "$PWD:/data" shoal anonymize baskets.csv -o public.csv
#
# `docker build --target app --tag shoal-app .` makes the app of one person, for the reverse proxy of an office (docs/guide/office.md).
# EXTRAS says what is installed besides: --build-arg EXTRAS=report,sign,sql,spark (Spark also needs Java).

ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:${PYTHON}-slim AS kernels
ARG EXTRAS=report,sign,sql
# Machine code is found again only on the processor it was compiled for. This is the one that all of a kind can run.
ENV NUMBA_CPU_NAME=generic PYTHONDONTWRITEBYTECODE=1
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[${EXTRAS}]" && rm -r /wheels
# Beside the package, where whoever runs the image may read it: the default algorithms, and what the tour takes besides.
RUN shoal warm && SHOAL_KEY=/tmp/tour/key shoal demo /tmp/tour > /tmp/tour.txt && rm -r /tmp/tour /tmp/tour.txt
RUN useradd --create-home --uid 1000 shoal && mkdir /data && chown shoal /data
# The one place for what stays: data, releases, and the owner's key. What passes goes to /tmp.
ENV HOME=/home/shoal SHOAL_KEY=/data/.shoal-key
VOLUME /data
WORKDIR /data

FROM kernels AS app
RUN pip install --no-cache-dir "shoal[app]"
USER shoal
EXPOSE 8000
# Any answer will do, also a refusal.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "-c", "from http.client import HTTPConnection as C; c = C('127.0.0.1', 8000, timeout=4); c.request('GET', '/'); c.getresponse()"]
ENTRYPOINT ["shoal", "app", "--workspace", "/data", "--listen", "0.0.0.0:8000", "--token-file", "/data/.shoal-token", "--no-browser"]

FROM kernels
USER shoal
ENTRYPOINT ["shoal"]
CMD ["--help"]
