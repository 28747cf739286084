# Shoal with compiled kernels, run by a normal user:
#
#     docker build --tag shoal .
#     docker run --rm --volume "$PWD:/data" --user "$(id -u)" shoal anonymize baskets.csv -o public.csv
#
# EXTRAS says what is installed besides: --build-arg EXTRAS=report,sign,sql,app,spark (Spark also needs Java).

ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:${PYTHON}-slim
ARG EXTRAS=report,sign,sql
# Machine code is found again only on the processor it was compiled for. This is the one that all of a kind can run.
ENV NUMBA_CPU_NAME=generic PYTHONDONTWRITEBYTECODE=1
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[${EXTRAS}]" && rm -r /wheels
# Beside the package, where whoever runs the image may read it: the default algorithms, and what the tour takes besides.
RUN shoal warm && SHOAL_KEY=/tmp/tour/key shoal demo /tmp/tour > /tmp/tour.txt && rm -r /tmp/tour /tmp/tour.txt
RUN useradd --create-home --uid 1000 shoal && mkdir /data && chown shoal /data
USER shoal
# Whichever user is named, there is a place for the key of the owner, and kernels that were not warmed. Mount it to keep them.
ENV HOME=/home/shoal
WORKDIR /data
ENTRYPOINT ["shoal"]
CMD ["--help"]
